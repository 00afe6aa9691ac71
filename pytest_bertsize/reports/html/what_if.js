const $ = id => document.getElementById(id)
const START = MODEL.sizes.map(size => String(size.start))
const AT_START = judge(START).rows
const fields = MODEL.sizes.map((_, place) => ({number: $(`number-${place}`), range: $(`range-${place}`), stops: []}))
let written = [...START]

// numbers in words

const readable = text => /^\d+$/.test(text) ? grouped(text) : text
const signed = count => (count > 0n ? '+' : '') + grouped(count)
const part = (count, whole) => whole ? Number(count * 1000000n / whole) / 10000 : 0
const percent = (count, whole) => `${part(count, whole).toFixed(1)}%`
const share = (count, whole) => count === whole ? '100%' : !count ? '0%' : part(count, whole) < 0.05 ? '<0.1%' : percent(count, whole)
const relative = (change, before) => before && Math.abs(part(change, before)) >= 0.05 ? ` (${change > 0n ? '+' : ''}${percent(change, before)})` : ''
const difference = (count, before) => count === before ? '' : signed(count - before)

// sliders: widths that the heads divide, otherwise even steps up to four times the config's value

const known = text => /^\d{1,9}$/.test(text) ? Number(text) : null
const common = (a, b) => b ? common(b, a % b) : a
const together = (a, b) => a / common(a, b) * b

function stops(place) {
  const {start: from, least: lowest, most, deepest} = MODEL.sizes[place]
  const highest = Math.min(deepest ?? most, Math.max(4 * from, lowest + 16))
  const of = (at, other) => MODEL.divisible.filter(pair => pair[at] === place).map(pair => known(written[pair[other]])).filter(Boolean)
  const divisors = of(0, 1).reduce(together, 1), multiples = of(1, 0).reduce(common, 0)
  const usual = from <= 64 ? 1 : from <= 512 ? 8 : 64
  const step = 8 * together(usual, divisors) <= 4 * from ? together(usual, divisors) : divisors
  const found = new Set([from])
  for (let value = Math.max(1, Math.ceil(lowest / step)) * step; value <= highest; value += step) found.add(value)
  if (lowest < 1) found.add(Math.max(lowest, 0))
  const legal = [...found].filter(value => !multiples || !value || multiples % value === 0)
  const now = known(written[place])
  return [...new Set(now === null ? legal : [...legal, now])].sort((a, b) => a - b)
}

// the sizes, which the address has too

function set(place, text) {
  written[place] = text
  for (const pair of MODEL.equal) if (pair.includes(place)) pair.forEach(other => { written[other] = text })
}

function address() {
  const changed = MODEL.sizes.flatMap(({key}, place) => written[place] === START[place] ? [] : [`${encodeURIComponent(key)}=${encodeURIComponent(written[place])}`])
  return changed.length ? `#${changed.join('&')}` : ''
}

// Only known keys, each once, with a whole number: anything else in an address is reported and ignored.
function readAddress() {
  const unread = [], seen = new Set()
  written = [...START]
  for (const part of location.hash.slice(1).split('&').filter(Boolean)) {
    const [[key, text] = []] = new URLSearchParams(part), place = MODEL.sizes.findIndex(size => size.key === key)
    if (place < 0 || seen.has(key) || !/^-?\d{1,24}$/.test(text)) { unread.push(part.slice(0, 80)); continue }
    seen.add(key)
    written[place] = text
  }
  $('unread').hidden = !unread.length
  $('unread').textContent = `Ignored in the address: ${unread.slice(0, 5).join(', ')}`
}

// the display

function show() {
  const {found, wrong, rows} = judge(written)
  fields.forEach((field, place) => {
    const {key, start} = MODEL.sizes[place], box = field.number.closest('.size'), changed = written[place] !== START[place]
    if (field.number !== document.activeElement) field.number.value = readable(written[place])
    field.number.setAttribute('aria-invalid', wrong.has(key))
    box.classList.toggle('changed', changed)
    box.classList.toggle('wrong', wrong.has(key))
    box.querySelector('.was').textContent = changed ? `${grouped(start)} in the config` : ''
    field.stops = stops(place)
    const at = field.stops.indexOf(known(written[place]))
    field.range.max = field.stops.length - 1
    if (at >= 0) field.range.value = at
    field.range.disabled = field.stops.length < 2
    field.range.setAttribute('aria-valuetext', grouped(written[place]))
  })
  $('reset').disabled = written.every((text, place) => text === START[place])
  $('refused').hidden = !found.length
  $('refused').replaceChildren(...found.map(([message, fix]) => {
    const said = document.createElement('p')
    said.innerText = `Not counted: ${message}${fix ? `\n→ ${fix}` : ''}`
    return said
  }))
  document.body.classList.toggle('uncounted', !rows)
  showFigures(rows)
  if (rows) [...MODEL.rows.map(row => row.name), 'total'].forEach((name, place) => showRow($('parts').rows[place], name, rows))
  $('keep').textContent = $('reset').disabled ? 'nothing to keep: these are the sizes of the config' : kept()
}

function showFigures(rows) {
  const total = rows?.get('total'), before = AT_START.get('total'), limit = MODEL.limits.total
  $('total').textContent = rows ? grouped(total) : '–'
  $('change').textContent = !rows ? 'not counted' : total === before ? 'as in the config' : `${signed(total - before)}${relative(total - before, before)} against the config`
  $('bytes').textContent = rows ? grouped(4n * total) : '–'
  $('budget').hidden = !limit
  if (!limit) return
  const left = rows ? room(limit, total) : 0n, value = $('budget').querySelector('dd')
  value.className = left < 0n ? 'bad' : ''
  value.children[0].textContent = limit.said
  value.children[1].textContent = rows ? left < 0n ? `${grouped(-left)} beyond it` : `${grouped(left)} left` : ''
}

// The room to the nearer bound: negative if the bound is exceeded.
function room({min, max}, count) {
  if (max === null || (min !== null && count < min)) return count - BigInt(min)
  return BigInt(max) - count
}

function showRow(row, name, rows) {
  const count = rows.get(name), before = AT_START.get(name), limit = MODEL.limits[name], left = limit ? room(limit, count) : null
  row.hidden = !count && !before && !limit
  row.classList.toggle('failed', left < 0n)
  const cells = [grouped(count), share(count, rows.get('total')), difference(count, before), limit?.said ?? '', left === null ? '' : grouped(left)]
  ;[...row.cells].slice(1).forEach((cell, place) => { cell.textContent = cells[place] })
  row.cells[5]?.classList.toggle('bad', left < 0n)
  const [bar, mark] = row.querySelectorAll('.track *') // the mark shows the end of the config's bar
  if (!bar) return
  const whole = [rows, AT_START].map(side => side.get('total')).reduce((a, b) => a > b ? a : b)
  bar.style.width = `${part(count, whole)}%`
  mark.style.left = `${part(before, whole)}%`
  mark.hidden = count === before
}

function kept() {
  const bare = key => key.split('.').map(word => /^[\w-]+$/.test(word) ? word : JSON.stringify(word)).join('.')
  return [...(MODEL.table ? [`[${MODEL.table}]`] : []), ...MODEL.sizes.map(({key}, place) => `overrides.${bare(key)} = ${grouped(written[place]).replaceAll(',', '_')}`)].join('\n')
}

// the actions

function changed() {
  history.replaceState(null, '', address() || location.pathname + location.search)
  $('unread').hidden = true
  show()
}

fields.forEach((field, place) => {
  field.number.addEventListener('input', () => { set(place, field.number.value.trim().replace(/,(?=\d{3}(,|$))/g, '')); changed() })
  field.number.addEventListener('focus', () => { field.number.value = written[place] })
  field.number.addEventListener('blur', show)
  field.range.addEventListener('input', () => { set(place, String(field.stops[field.range.value])); changed() })
})
$('sizes').addEventListener('submit', event => event.preventDefault())
$('reset').addEventListener('click', () => { written = [...START]; changed(); fields[0].number.focus() })
addEventListener('hashchange', () => {
  if (location.hash === '#sizes') return changed() // the link past the heading
  readAddress()
  show()
})
readAddress()
show()
