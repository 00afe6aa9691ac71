"""dump.py CHECKOUT OUT [FAMILY…]: everything that families say, for drawn sizes, as JSON lines; no torch. Then compare two dumps with cmp.py."""
import sys, json, random
sys.dont_write_bytecode = True
root, out, *names = sys.argv[1:]
sys.path.insert(0, root)
from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.closed_forms.family import ClosedForm
from pytest_bertsize.closed_forms.blocks import tensors, terms
from pytest_bertsize.closed_forms import flops as F
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.release import NEWEST, Release, parsed
from importlib import import_module
class _N(dict):
    def __missing__(self, n):
        try: self[n] = import_module("pytest_bertsize.closed_forms.families_new." + n.replace("-", "_")).FAMILY
        except ModuleNotFoundError as e:
            if n in names or "families_new." + n.replace("-", "_") not in str(e): raise
            self[n] = import_module("pytest_bertsize.closed_forms.families." + n.replace("-", "_")).FAMILY
        return self[n]
FAMILIES = _N()
import pytest_bertsize.closed_forms.flops as _f; _f.FAMILIES = FAMILIES
RELEASES = ["4.40", "4.42", "4.46", "4.48", "4.51", "4.57", "5.1", "5.4", "5.9", "5.14", None]
def rel(x): return NEWEST if x is None else parsed(x)
def keys_of(k):
    def ig(i): return [repr(i.harmless), i.because, i.cost is not None, i.fix, list(i.only)]
    return {"sizes": [list(map(repr, s)) for s in k.sizes], "switches": sorted(list(map(repr, s)) for s in k.switches),
        "choices": [[c.key, repr(c.default), sorted(map(str, c.words)), repr(tuple(c)[3:])] for c in sorted(k.choices, key=lambda c: c.key)],
        "lists": [[l.key, repr(l.default), str(l.of), sorted(l.words), l.separator, l.as_long_as, l.may_be_empty] for l in k.lists],
        "indices": [list(i) for i in k.indices], "divisible": k.divisible, "equal": k.equal,
        "rules": [[list(r.keys), r.message, r.fix] for r in k.rules], "ignored": {n: ig(i) for n, i in sorted(k.ignored.items())},
        "labels": k.labels, "inert": sorted(k.inert), "open": k.open,
        "refused": {n: [repr(r.harmless), r.because, r.fix] for n, r in sorted(k.refused.items())}, "until": [[list(u.release), u.source] for u in k.until]}
def trial(f):
    try: return f()
    except Exception as e: return f"!{type(e).__name__}"
def draw(rng, keys, arch):
    sizes, values = {}, {}
    for s in keys.sizes:
        if s.default is None and rng.random() < .5: v = None
        elif s.minimum <= 0 and rng.random() < .3: v = s.minimum
        else: v = rng.choice((1, 2, 3, 4, 6)) if s.repeats else rng.choice((2, 4, 8, 12, 16, 24, 32, 48))
        sizes[s.symbol] = v; values[s.key] = v
    if "D" in sizes and "A" in sizes and rng.random() < .7: sizes["D"] = sizes["A"] * rng.choice((2, 4, 8)); values[next(s.key for s in keys.sizes if s.symbol == "D")] = sizes["D"]
    sizes["C"] = values["num_labels"] = rng.choice((2, 3, 11))
    sw = {k: rng.random() < .5 for k in sorted(s.key for s in keys.switches)}
    for c in sorted(keys.choices, key=lambda c: c.key): sw[c.key] = rng.choice([c.default, *sorted(map(str, c.words)), "prelu" if "prelu" in c.words else c.default, *([None] if c.null else [])] if hasattr(c, "null") else [c.default, *sorted(map(str, c.words))])
    for l in keys.lists:
        n = rng.choice((1, 2, 3))
        if l.as_long_as: n = len(sw[l.as_long_as])
        if l.of is int: sw[l.key] = tuple(rng.choice((1, 2, 3, 5)) for _ in range(n)) if rng.random() < .8 else l.default
        else: sw[l.key] = tuple(rng.sample(sorted(l.words) or ["aa", "bb", "cc"], min(n, len(l.words) or 3)))
    values |= sw
    return sizes, {**sw, **{o: rng.random() < .5 for o in arch.options}}, values
with open(out, "w") as f:
    for name in names or list(FAMILIES):
        if name == "encoder-decoder": continue
        fam0 = FAMILIES[name]
        print(json.dumps(["family", name, type(fam0).__name__, repr(fam0.since), [[a.name, a.labels, dict(a.options), [[list(r.keys), r.message, r.fix] for r in a.rules], repr(a.since), a.defined_in, a.flops] for a in fam0.architectures]]), file=f)
        for R in RELEASES:
            fam = fam0.at(rel(R))
            print(json.dumps(["keys", name, R, keys_of(fam.keys)]), file=f)
            for a in fam.architectures:
                rng = random.Random(f"{name} {R} {a.name}")
                for i in range(12 if R is None else 4):
                    sizes, sw, values = draw(rng, fam.keys, a)
                    dims = Dims(sizes, sw, release=rel(R))
                    form = ClosedForm(a, dims)
                    row = {"sizes": sizes, "sw": {k: repr(v) for k, v in sw.items()}}
                    row["tensors"] = trial(lambda: [[t.name, list(t.shape), t.component, t.trainable, getattr(t, "tied_to", None)] for t in tensors(form.root)])
                    row["terms"] = trial(lambda: sorted([t.name, t.times, t.passes] for t in form.terms))
                    row["flops"] = trial(lambda: F.flops(a, dims, seq_len=7))
                    row["rules"] = trial(lambda: [trial(lambda r=r: bool(r.holds(values))) for r in (*fam.keys.all_rules, *a.rules)])
                    row["costs"] = {k: [trial(lambda c=c, v=v: c.cost(v, dims)) for v in (True, False, 64, "relative_key", "sinusoidal", {"0": [1, 2]})] for k, c in sorted(fam.keys.ignored.items()) if c.cost}
                    if i < 3: row["formulas"] = trial(lambda: {k: str(v) for k, v in form.formulas().items()})
                    if i == 0: row["names"] = trial(lambda: sorted(fam.component_names(dims)))
                    print(json.dumps(["draw", name, R, a.name, i, row], default=str), file=f)
