// A quotient, rounded down as by Python's //: a BigInt is rounded towards zero.
function floor(above, below) {
  const cut = above / below
  return above % below !== 0n && (above < 0n) !== (below < 0n) ? cut - 1n : cut
}

const grouped = count => count.toString().replace(/\B(?=(\d{3})+$)/g, ',')

// Check values by Python's reader, the rules of the class and the gate's bounds: return sentences, or else counts.
function judge(written) {
  const values = written.map(text => /^-?\d{1,24}$/.test(text) ? BigInt(text) : null)
  const found = [], wrong = new Set()
  MODEL.sizes.forEach((size, place) => {
    const said = outside(size, values[place], written[place])
    if (!said) return
    wrong.add(size.key)
    found.push(said)
    values[place] = BigInt(size.example) // a valid value, for rules about other keys
  })
  MODEL.rules.forEach(({keys, words, said}, number) => {
    if (keys.some(key => wrong.has(key)) || computed(() => HOLDS[number](values), false)) return
    wrong.add(keys[0])
    const write = name => name.endsWith(',') ? grouped(values[said[name]]) : values[said[name]]
    found.push(filled(words, name => typeof said[name] === 'string' ? said[name] : write(name)))
  })
  if (found.length) return {found, wrong}
  const counts = computed(() => COUNTS(values), 'the closed form gives no count for these values')
  if (typeof counts === 'string') return {found: [[counts, '']], wrong}
  return {found, wrong, rows: rolledUp(counts)}
}

// A division by zero is the only error of whole numbers.
function computed(what, otherwise) {
  try { return what() } catch (error) {
    if (error instanceof RangeError) return otherwise
    throw error
  }
}

// Replace the names in braces in a message and its fix.
function filled(templates, said) {
  return templates.map(text => text.replace(/\{([^{}]+)\}/g, (_, name) => said(name)))
}

function outside({key, example, least, most, deepest}, value, text) {
  const [whole, small, large, deep] = MODEL.words
  const say = (templates, more) => filled(templates, name => ({key, example, least, value: value === null ? JSON.stringify(text) : grouped(value), ...more})[name])
  if (value === null) return say(whole)
  if (value < least) return say(small)
  if (value > most) return say(large, {most: grouped(most)})
  return deepest && value > deepest ? say(deep, {most: grouped(deepest)}) : null
}

// Return every component at every level, and the total.
function rolledUp(own) {
  const rows = new Map([...MODEL.rows.map(row => [row.name, 0n]), ['total', 0n]])
  MODEL.own.forEach((name, place) => {
    const parts = name.split('.')
    const levels = parts.map((_, depth) => parts.slice(0, depth + 1).join('.'))
    for (const level of [...levels, 'total']) rows.set(level, rows.get(level) + own[place])
  })
  return rows
}
