const $ = id => document.getElementById(id)
const START = MODEL.sizes.map(size => String(size.start))
const AT_START = judge(START).rows
const fields = MODEL.sizes.map((_, place) => ({number: $(`number-${place}`), range: $(`range-${place}`), stops: []}))
let written = [...START]

function element(tag, className, ...inside) {
  const made = document.createElement(tag)
  if (className) made.className = className
  made.append(...inside)
  return made
}

// numbers in words

const readable = text => /^\d+$/.test(text) ? grouped(text) : text
const signed = count => (count > 0n ? '+' : '') + grouped(count)
const part = (count, whole) => whole ? Number(count * 1000000n / whole) / 10000 : 0
const percent = (count, whole) => `${part(count, whole).toFixed(1)}%`
const share = (count, whole) => count === whole ? '100%' : !count ? '0%' : part(count, whole) < 0.05 ? '<0.1%' : percent(count, whole)
const relative = (change, before) => before && Math.abs(part(change, before)) >= 0.05 ? ` (${change > 0n ? '+' : ''}${percent(change, before)})` : ''

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

function placeSliders() {
  fields.forEach((field, place) => {
    field.stops = stops(place)
    const at = field.stops.indexOf(known(written[place]))
    field.range.max = field.stops.length - 1
    if (at >= 0) field.range.value = at
    field.range.disabled = field.stops.length < 2
    field.range.setAttribute('aria-valuetext', grouped(written[place]))
  })
}

// the state

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
  $('unread').textContent = unread.length ? `Ignored in the address: ${unread.slice(0, 5).join(', ')}` : ''
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
  })
  $('reset').disabled = written.every((text, place) => text === START[place])
  $('refused').hidden = !found.length
  $('refused').firstElementChild.replaceChildren(...found.map(([message, fix]) => element('li', 'error', `Not counted: ${message}`, ...(fix ? [element('p', 'fix', `→ ${fix}`)] : []))))
  document.body.classList.toggle('uncounted', !rows)
  placeSliders()
  showFigures(rows)
  if (rows) showCounts(rows)
  $('keep').textContent = $('reset').disabled ? 'nothing to keep: these are the sizes of the config' : kept()
}

function showFigures(rows) {
  const total = rows?.get('total'), before = AT_START.get('total'), limit = MODEL.limits.total
  $('total').textContent = rows ? grouped(total) : '–'
  $('change').textContent = !rows ? 'not counted' : total === before ? 'as in the config' : `${signed(total - before)}${relative(total - before, before)} against the config`
  $('budget').hidden = !limit
  if (!limit) return
  const left = rows ? room(limit, total) : null, value = $('budget').querySelector('dd')
  value.className = left !== null && left < 0n ? 'bad' : ''
  value.children[0].textContent = limit.said
  value.children[1].textContent = left === null ? '' : `${grouped(left < 0n ? -left : left)} ${left >= 0n ? 'left' : limit.max !== null && total > limit.max ? 'over' : 'under its minimum'}`
}

// The room to the nearer bound: negative if the bound is exceeded.
function room({min, max}, count) {
  if (max === null || (min !== null && count < min)) return count - BigInt(min)
  return BigInt(max) - count
}

function showCounts(rows) {
  showBars(rows)
  const largest = MODEL.rows.flatMap(({name}) => [rows.get(name), AT_START.get(name)]).reduce(larger, 1n)
  for (const [place, row] of [...MODEL.rows, {name: 'total'}].entries()) showRow($('parts').rows[place], row, rows, largest)
  for (const [place, {bits}] of MODEL.dtypes.entries()) {
    const [now, before] = [rows, AT_START].map(side => (side.get('total') * BigInt(bits) + 7n) / 8n)
    fill($('bytes').rows[place], grouped(now), now === before ? '' : signed(now - before))
  }
}

const larger = (a, b) => a > b ? a : b

function fill(row, ...texts) {
  texts.forEach((text, place) => { row.cells[place + 1].textContent = text })
}

function showRow(row, {name}, rows, largest) {
  const count = rows.get(name), before = AT_START.get(name), limit = MODEL.limits[name], left = limit ? room(limit, count) : null
  const change = count === before ? '' : signed(count - before)
  row.hidden = !count && !before && !limit
  row.classList.toggle('failed', left < 0n)
  row.lastElementChild.classList.toggle('bad', left < 0n)
  fill(row, grouped(count), share(count, rows.get('total')), change, limit ? limit.said : '', left === null ? '' : grouped(left))
  const [bar, mark] = row.querySelectorAll('.track *') // the mark shows the end of the config's bar
  if (!bar) return
  bar.style.width = `${part(count, largest)}%`
  mark.style.left = `${part(before, largest)}%`
  mark.hidden = count === before
}

// Two bars on one scale, as in the report: the config, and the sizes on the page.
function showBars(rows) {
  const sides = [['the config', AT_START], ['these sizes', rows]], limit = MODEL.limits.total?.max
  const longest = sides.map(([, counts]) => counts.get('total')).reduce(larger)
  const drawn = limit != null && limit <= 4n * longest
  const whole = drawn ? larger(BigInt(limit), longest) : longest, scale = whole + whole / 50n + 1n
  $('plot').className = drawn ? 'plot limited' : 'plot'
  $('plot').replaceChildren(...sides.map(([label, counts]) => bar(label, counts, scale, drawn ? BigInt(limit) : null)))
  if (drawn) {
    const name = element('p', 'limit-name', element('span'), element('span', '', `budget ${MODEL.limits.total.said}`))
    name.firstElementChild.style.width = `${part(BigInt(limit), scale)}%`
    name.setAttribute('aria-hidden', 'true')
    $('plot').append(name)
  }
  $('caption').textContent = `Both bars use the same scale.${drawn ? ' The dashed line is the total budget.' : ''}`
}

// A part is below its component, which may have parameters beside those of its parts.
function bar(label, counts, scale, limit) {
  const rows = MODEL.rows.filter(({name, depth}) => depth < 2 && counts.get(name)), tops = rows.filter(row => !row.depth)
  const above = element('div', 'level above'), below = element('div', 'level below')
  let end = 0n, endBelow = 0n
  for (const {name, depth, colour} of rows) {
    const count = counts.get(name), place = inside => cell(name, colour, count, depth ? endBelow : end, scale, inside)
    if (depth) {
      below.append(place([element('span', '', name.split('.')[1])]))
      endBelow += count
    } else {
      above.append(place([element('b', '', name), element('span', '', grouped(count))]))
      if (!rows.some(row => row.name.startsWith(`${name}.`))) below.append(place([]))
      endBelow = end
      end += count
    }
  }
  const name = element('p', 'side-name', element('b', '', label), ' ', element('span', '', grouped(counts.get('total'))))
  name.setAttribute('aria-hidden', 'true')
  name.style.width = `${part(counts.get('total'), scale)}%`
  const drawn = element('div', 'bar', above, below)
  if (limit !== null) {
    const line = element('div', 'limit')
    line.style.left = `${part(limit, scale)}%`
    drawn.append(line)
  }
  drawn.setAttribute('role', 'img')
  drawn.setAttribute('aria-label', `${label}: ${grouped(counts.get('total'))} parameters. ${tops.map(row => `${row.name} ${grouped(counts.get(row.name))}`).join('; ')}`)
  return element('div', 'side', name, drawn)
}

function cell(name, colour, count, start, scale, inside) {
  const made = element('div', `cell c${colour}`, ...inside)
  made.style.left = `${part(start, scale)}%`
  made.style.width = `${part(count, scale)}%`
  made.title = `${name}: ${grouped(count)}`
  return made
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
document.body.classList.toggle('limited', Object.keys(MODEL.limits).some(name => name !== 'total'))
readAddress()
show()
