const $ = id => document.getElementById(id)
const START = MODEL.sizes.map(size => size.start)
const AT_START = judge(START).rows
const fields = MODEL.sizes.map((_, place) => ({number: $(`number-${place}`), range: $(`range-${place}`), stops: []}))
let written = [...START]

function element(tag, className, ...inside) {
  const made = document.createElement(tag)
  if (className) made.className = className
  made.append(...inside)
  return made
}

// numbers as they are read

const signed = count => (count > 0n ? '+' : '') + grouped(count)
const part = (count, whole) => whole ? Number(count * 1000000n / whole) / 10000 : 0
const percent = (count, whole) => `${part(count, whole).toFixed(1)}%`
const relative = (change, before) => before && Math.abs(part(change, before)) >= 0.05 ? ` (${change > 0n ? '+' : ''}${percent(change, before)})` : ''

function rounded(count, units, scale = 1000) {
  let value = Number(count), unit = 0
  while (value >= scale * 0.9995 && unit < units.length - 1) { value /= scale; unit += 1 }
  return `${unit && value < 99.95 ? value.toFixed(1).replace(/\.0$/, '') : Math.round(value)}${units[unit]}`
}
const short = count => rounded(count, ['', 'K', 'M', 'B', 'T'])
const inBytes = count => rounded(count, [' B', ' kB', ' MB', ' GB', ' TB'])

// sliders: where heads divide the width, and otherwise in even steps up to four times what the config has

const known = text => /^\d{1,9}$/.test(text) ? Number(text) : null
const common = (a, b) => b ? common(b, a % b) : a
const together = (a, b) => a / common(a, b) * b

function stops(place) {
  const {start, least, most, deepest} = MODEL.sizes[place], from = Number(start), lowest = Number(least)
  const highest = Math.min(Number(deepest ?? most), Math.max(4 * from, lowest + 16))
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

// what is set

function set(place, text) {
  written[place] = text
  for (const pair of MODEL.equal) if (pair.includes(place)) pair.forEach(other => { written[other] = text })
}

function address() {
  const changed = MODEL.sizes.flatMap(({key}, place) => written[place] === START[place] ? [] : [`${encodeURIComponent(key)}=${encodeURIComponent(written[place])}`])
  return changed.length ? `#${changed.join('&')}` : ''
}

// Only keys that there are, each once, with a whole number: anything else in an address is said and left alone.
function readAddress() {
  const unread = [], seen = new Set(), read = [...START]
  for (const part of location.hash.slice(1).split('&').filter(Boolean)) {
    const [key, text, ...more] = part.split('=').map(decoded)
    const place = MODEL.sizes.findIndex(size => size.key === key)
    if (place < 0 || more.length || seen.has(key) || !/^-?\d{1,24}$/.test(text ?? '')) { unread.push(part); continue }
    seen.add(key)
    read[place] = text
  }
  written = read
  $('unread').hidden = !unread.length
  $('unread').textContent = unread.length ? `Of the address, this was not taken: ${unread.slice(0, 5).map(each => each.slice(0, 80)).join(', ')}` : ''
}

function decoded(text) {
  try { return decodeURIComponent(text) } catch { return text }
}

// what is seen

function show() {
  const {found, wrong, rows} = judge(written)
  fields.forEach((field, place) => {
    const {key, start} = MODEL.sizes[place], box = field.number.closest('.size'), changed = written[place] !== start
    if (field.number.value !== written[place]) field.number.value = written[place]
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
  $('keep').textContent = rows ? kept() : 'nothing to keep: these sizes are refused'
}

function showFigures(rows) {
  const total = rows?.get('total'), before = AT_START.get('total'), limit = MODEL.limits.total
  $('total').textContent = rows ? grouped(total) : '–'
  $('change').textContent = !rows ? 'not counted' : total === before ? 'as in the config' : `${signed(total - before)}${relative(total - before, before)} against the config`
  $('fp32').textContent = rows ? inBytes(4n * total) : '–'
  $('bf16').textContent = rows ? `${inBytes(2n * total)} in bf16` : ''
  $('budget').hidden = !limit
  if (!limit) return
  const left = rows ? room(limit, total) : null, value = $('budget').querySelector('dd')
  value.className = left !== null && left < 0n ? 'bad' : ''
  value.children[0].textContent = limit.said
  value.children[1].textContent = left === null ? '' : `${grouped(left < 0n ? -left : left)} ${side(limit, total)}`
}

// What is left to the nearer bound that counts: below zero where it is broken.
function room(limit, count) {
  const over = limit.max === null ? null : BigInt(limit.max) - count, under = limit.min === null ? null : count - BigInt(limit.min)
  if (over === null || (under !== null && under < 0n)) return under
  return over
}

function side(limit, count) {
  if (limit.min !== null && count < BigInt(limit.min)) return 'under its minimum'
  if (limit.max === null) return 'above its minimum'
  return count > BigInt(limit.max) ? 'over' : 'left'
}

function showCounts(rows) {
  showBars(rows)
  const total = rows.get('total'), largest = MODEL.rows.map(row => [rows, AT_START].map(side => side.get(row.name))).flat().reduce((a, b) => a > b ? a : b, 1n)
  const lines = MODEL.rows.filter(row => rows.get(row.name) || AT_START.get(row.name) || MODEL.limits[row.name])
  $('parts').replaceChildren(...lines.map(row => line(row, rows, total, largest)), line({name: 'total'}, rows, total, null))
  $('bytes').replaceChildren(...MODEL.dtypes.map(({bits, name}) => {
    const [now, before] = [total, AT_START.get('total')].map(count => (count * BigInt(bits) + 7n) / 8n)
    return element('tr', '', heading(name), element('td', 'n', grouped(now)), element('td', 'n', now === before ? '–' : signed(now - before)))
  }))
}

function heading(name, ...more) {
  const made = element('th', '', ...name.split(/(?<=_)/).flatMap((word, at) => at ? [document.createElement('wbr'), word] : [word]), ...more)
  made.scope = 'row'
  return made
}

function line({name, colour}, rows, total, largest) {
  const count = rows.get(name), before = AT_START.get(name), limit = MODEL.limits[name], left = limit ? room(limit, count) : null
  const depth = name.split('.').length - 1, broken = left !== null && left < 0n
  const made = element('tr', `d${Math.min(depth, 4)}${name === 'total' ? ' total' : ''}${broken ? ' failed' : ''}`)
  made.append(
    heading(name.split('.').at(-1), ...(largest ? [track(count, before, largest, colour)] : [])),
    element('td', 'n', grouped(count)),
    element('td', 'n share', percent(count, total)),
    element('td', 'n', count === before ? '–' : signed(count - before)),
    element('td', 'n budget limits', limit ? limit.said : ''),
    element('td', `n limits${broken ? ' bad' : ''}`, left === null ? '' : grouped(left)),
  )
  return made
}

// A bar of a component, with a mark where it ends in the config.
function track(count, before, largest, colour) {
  const [bar, mark] = [element('i'), element('u')], made = element('span', `track c${colour}`, bar)
  made.setAttribute('aria-hidden', 'true')
  bar.style.width = `${part(count, largest)}%`
  mark.style.left = `${part(before, largest)}%`
  if (count !== before) made.append(mark)
  return made
}

// Two bars on one scale, as in the report: the config, and what is set.
function showBars(rows) {
  const sides = [['the config', AT_START], ['these sizes', rows]], limit = MODEL.limits.total?.max
  const larger = sides.map(([, counts]) => counts.get('total')).reduce((a, b) => a > b ? a : b, 1n)
  const beyond = limit && BigInt(limit) > 4n * larger, drawn = limit && !beyond
  const whole = drawn && BigInt(limit) > larger ? BigInt(limit) : larger, scale = whole + whole / 50n + 1n
  $('plot').className = drawn ? 'plot limited' : 'plot'
  $('plot').replaceChildren(...sides.map(([label, counts]) => bar(label, counts, scale)))
  if (drawn) {
    const [at, name] = [element('div', 'limit'), element('p', 'limit-name', element('span'), element('span', '', `budget ${MODEL.limits.total.said}`))]
    at.style.left = name.firstElementChild.style.width = `${part(BigInt(limit), scale)}%`
    name.setAttribute('aria-hidden', 'true')
    $('plot').append(at, name)
  }
  $('caption').textContent = `Both bars use the same scale.${drawn ? ' The dashed line is the total budget.' : beyond ? ` The budget of ${MODEL.limits.total.said} is far beyond the right edge.` : ''}`
}

function bar(label, counts, scale) {
  const cells = at => MODEL.rows.filter(row => at(row.name)).filter(row => counts.get(row.name))
  const isTop = name => !name.includes('.'), second = name => name.split('.').length === 2 || (isTop(name) && !MODEL.rows.some(row => row.name.startsWith(`${name}.`)))
  const levels = [['above', isTop], ['below', second]].map(([level, at]) => {
    const made = element('div', `level ${level}`)
    let start = 0n
    for (const row of cells(at)) {
      const own = level === 'below' ? startOf(row.name, counts, start) : start
      made.append(cell(row, counts.get(row.name), own, scale, level))
      start = own + counts.get(row.name)
    }
    return made
  })
  const name = element('p', 'side-name', element('b', '', label), ' ', element('span', '', grouped(counts.get('total'))))
  name.setAttribute('aria-hidden', 'true')
  name.style.width = `${part(counts.get('total'), scale)}%`
  const drawn = element('div', 'bar', ...levels)
  drawn.setAttribute('role', 'img')
  drawn.setAttribute('aria-label', `${label}: ${grouped(counts.get('total'))} parameters. ${cells(isTop).map(row => `${row.name} ${grouped(counts.get(row.name))}`).join('; ')}`)
  return element('div', 'side', name, drawn)
}

// A part stands below its component, which may have parameters beside those of its parts.
function startOf(name, counts, start) {
  const top = name.split('.')[0]
  let before = 0n
  for (const row of MODEL.rows) {
    if (row.name === top) break
    if (!row.name.includes('.')) before += counts.get(row.name)
  }
  return start > before ? start : before
}

function cell({name, colour}, count, start, scale, level) {
  const label = level === 'above' ? [element('b', '', name), element('span', '', short(count))] : name.includes('.') ? [element('span', '', name.split('.')[1])] : []
  const made = element('div', `cell c${colour}`, ...label)
  made.style.left = `${part(start, scale)}%`
  made.style.width = `${part(count, scale)}%`
  made.title = `${name}: ${grouped(count)}`
  return made
}

function kept() {
  const bare = key => key.split('.').map(word => /^[\w-]+$/.test(word) ? word : JSON.stringify(word)).join('.')
  return [...(MODEL.table ? [`[${MODEL.table}]`] : []), ...MODEL.sizes.map(({key}, place) => `overrides.${bare(key)} = ${grouped(written[place]).replaceAll(',', '_')}`)].join('\n')
}

// what is done

function changed() {
  history.replaceState(null, '', address() || location.pathname + location.search)
  $('unread').hidden = true
  show()
}

fields.forEach((field, place) => {
  field.number.addEventListener('input', () => { set(place, field.number.value.trim()); changed() })
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
