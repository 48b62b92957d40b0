
// A table whose columns sort, and which copies as CSV.
class Table {
  constructor(table) {
    this.table = table;
    this.body = table.tBodies[0];
    this.heads = [...table.tHead.rows[0].cells];
    if (!table.classList.contains('heat')) this.heads.forEach((head, i) => this.addSort(head, i));
    this.addCopy();
  }

  addSort(head, i) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    button.addEventListener('click', () => this.sort(i));
    if (head.textContent) head.replaceChildren(button);
  }

  sort(i) {
    const up = this.heads[i].getAttribute('aria-sort') !== 'ascending';
    this.heads.forEach((head) => head.removeAttribute('aria-sort'));
    this.heads[i].setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const numeric = this.heads[i].classList.contains('n');
    const key = (row) => (numeric ? Number(row.cells[i].dataset.v) : row.cells[i].textContent);
    const compare = numeric ? (a, b) => a - b : (a, b) => a.localeCompare(b);
    const rows = [...this.body.rows].sort((a, b) => (up ? 1 : -1) * compare(key(a), key(b)));
    this.body.append(...rows);
  }

  addCopy() {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'copy as CSV';
    button.addEventListener('click', async () => {
      await copy(this.csv());
      button.textContent = 'copied';
      setTimeout(() => { button.textContent = 'copy as CSV'; }, 1500);
    });
    this.table.caption.append(button);
  }

  csv() {
    const rows = [this.heads.map((head) => head.textContent)];
    for (const row of this.body.rows) rows.push([...row.cells].map((cell) => cell.textContent));
    return rows.map((row) => row.map(quote).join(',')).join('\r\n') + '\r\n';
  }
}

// quote writes a field of CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe.
function quote(text) {
  if (/^[=+\-@\t]/.test(text) && Number.isNaN(Number(text.replace(/%$/, '')))) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// copy puts a text into the clipboard, also where the browser has only the older way.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

const plots = [...document.querySelectorAll('[data-plot]')].map((figure) => new Plot(figure));
document.querySelectorAll('table').forEach((table) => new Table(table));

// Paper is white, also where the browser prefers dark pages.
for (const [event, paper] of [['beforeprint', true], ['afterprint', false]]) {
  addEventListener(event, () => {
    document.documentElement.classList.toggle('paper', paper);
    plots.forEach((plot) => plot.draw());
  });
}
