// A whole quotient, rounded down as Python's // does it: a BigInt is cut towards zero.
function floor(above, below) {
  const cut = above / below
  return above % below !== 0n && (above < 0n) !== (below < 0n) ? cut - 1n : cut
}

const grouped = count => count.toString().replace(/\B(?=(\d{3})+$)/g, ',')

// What Python's reader, the rules of the class and the gate's bounds say to some values: sentences, or else counts.
function judge(written) {
  const values = written.map(text => /^-?\d{1,24}$/.test(text) ? BigInt(text) : null)
  const found = [], wrong = new Set()
  MODEL.sizes.forEach((size, place) => {
    const said = outside(size, values[place], written[place])
    if (!said) return
    wrong.add(size.key)
    found.push(said)
    values[place] = BigInt(size.example) // as the reader takes it, for rules about other keys
  })
  MODEL.rules.forEach((rule, number) => {
    if (rule.keys.some(key => wrong.has(key)) || computed(() => HOLDS[number](values), false)) return
    wrong.add(rule.keys[0])
    found.push([rule.message, rule.fix].map(pieces => inWords(pieces, values)))
  })
  if (found.length) return {found, wrong}
  const counts = computed(() => COUNTS(values), 'the closed form gives no count for these values')
  if (typeof counts === 'string') return {found: [[counts, '']], wrong}
  const rows = rolledUp(counts.own), said = absurd(counts, rows.get('total'), values)
  return said ? {found: [said], wrong} : {found, wrong, rows}
}

// A division by zero is the one thing that goes wrong in whole numbers.
function computed(what, otherwise) {
  try { return what() } catch (error) {
    if (error instanceof RangeError) return otherwise
    throw error
  }
}

function filled([message, fix], said) {
  return [message, fix].map(text => text.replace(/\{(\w+)\}/g, (_, name) => said[name]))
}

function inWords(pieces, values) {
  return pieces.map(piece => {
    if (typeof piece === 'string') return piece
    return piece.grouped ? grouped(values[piece.size]) : values[piece.size].toString()
  }).join('')
}

function outside(size, value, text) {
  const {whole, small, large, deep} = MODEL.words, {key, example, least, most, deepest} = size
  if (value === null) return filled(whole, {key, example, value: JSON.stringify(text)})
  const said = {key, example, least, value: grouped(value)}
  if (value < BigInt(least)) return filled(small, said)
  if (value > BigInt(most)) return filled(large, {...said, most: grouped(most)})
  return deepest && value > BigInt(deepest) ? filled(deep, {...said, most: grouped(deepest)}) : null
}

// Every component at every level, and the total.
function rolledUp(own) {
  const rows = new Map([...MODEL.rows.map(row => [row.name, 0n]), ['total', 0n]])
  MODEL.own.forEach((name, place) => {
    const parts = name.split('.')
    const levels = parts.map((_, depth) => parts.slice(0, depth + 1).join('.'))
    for (const level of [...levels, 'total']) rows.set(level, rows.get(level) + own[place])
  })
  return rows
}

// What would take minutes to build, or is no model.
function absurd(counts, total, values) {
  const {tensor, label, labels, most, megabyte} = MODEL.memory, {much, many} = MODEL.words
  const names = labels === null ? 0n : values[labels], room = BigInt(MODEL.parameters), whole = BigInt(megabyte)
  const bytes = counts.tensors * BigInt(tensor) + names * BigInt(label)
  if (bytes > BigInt(most)) {
    const parts = `${grouped(counts.tensors)} tensors${names ? ` and ${grouped(names)} labels` : ''}`
    return filled(much, {parts, takes: grouped(bytes / whole), most: grouped(BigInt(most) / whole)})
  }
  if (counts.unrolled <= room) return null
  return filled(many, {count: grouped(total > room ? total : counts.unrolled), most: grouped(room)})
}
