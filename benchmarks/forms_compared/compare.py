"""cmp.py OLD NEW: compare two dumps line by line; order of tensors within a model does not count."""
import sys, json
A = [json.loads(l) for l in open(sys.argv[1])]; B = [json.loads(l) for l in open(sys.argv[2])]
bad = 0; n = 0
def norm(k, v):
    return sorted(v, key=repr) if k == "tensors" and isinstance(v, list) else v
if len(A) != len(B): print("lengths differ", len(A), len(B))
for a, b in zip(A, B):
    n += 1
    if a == b: continue
    if a[0] == "draw":
        if a[:5] != b[:5]: print("ROW", a[:5], b[:5]); bad += 1; continue
        for k in a[5]:
            x, y = norm(k, a[5][k]), norm(k, b[5].get(k))
            if x != y:
                bad += 1
                if bad < 6:
                    print(a[:5], k, {"sizes": a[5]["sizes"], "sw": a[5]["sw"]} if k in ("tensors", "formulas") else "")
                    if isinstance(x, list) and isinstance(y, list):
                        X = {json.dumps(i) for i in x}; Y = {json.dumps(i) for i in y}
                        print("   only old:", sorted(X - Y)[:6]); print("   only new:", sorted(Y - X)[:6])
                    elif isinstance(x, dict) and isinstance(y, dict): print("  ", {q: (x.get(q), y.get(q)) for q in {*x, *y} if x.get(q) != y.get(q)})
                    else: print("   old", str(x)[:300]); print("   new", str(y)[:300])
    else:
        bad += 1
        if bad < 6:
            print(a[:3]); x, y = a[-1], b[-1]
            if isinstance(x, dict): print("  ", {q: (x.get(q), y.get(q)) for q in {*x, *y} if x.get(q) != y.get(q)})
            else: print("  old", a[2:]); print("  new", b[2:])
print(n, "rows,", bad, "differences")
sys.exit(bad > 0 or len(A) != len(B))
