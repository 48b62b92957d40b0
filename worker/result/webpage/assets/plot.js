'use strict';

// A plot with a legend of buttons, a line that reads the values under the cursor, and switches for the axes.
// Mouse, touch and the arrow keys move the cursor.
class Plot {
  constructor(figure) {
    this.figure = figure;
    this.spec = JSON.parse(figure.dataset.plot);
    this.log = { x: true, y: true };
    this.names = [...this.spec.lines, ...this.spec.levels].map((l) => l.name);
    this.shown = this.names.map((name) => !this.spec.hidden?.includes(name));
    this.data = Plot.align(this.spec);
    this.tools = this.add('div', 'tools');
    for (const axis of ['x', 'y']) this.addSwitch(axis);
    this.canvas = this.add('div', 'canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'group');
    this.canvas.setAttribute('aria-label', `${this.spec.title}: ${this.spec.y} by ${this.spec.x}; arrow keys read values`);
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    this.readout = this.add('div', 'readout');
    this.readout.setAttribute('role', 'status');
    this.addLegend();
    this.draw();
    new ResizeObserver(() => this.chart.setSize(this.size())).observe(this.canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  // align puts all lines on the same values of x, as uPlot wants them: null where a line has no point.
  static align(spec) {
    const xs = [...new Set(spec.lines.flatMap((l) => l.points.map((p) => p[0])))].sort((a, b) => a - b);
    const ys = spec.lines.map((l) => {
      const at = new Map(l.points);
      return xs.map((x) => at.get(x) ?? null);
    });
    return [xs, ...ys, ...spec.levels.map((l) => xs.map(() => l.y))];
  }

  add(tag, name) {
    const element = document.createElement(tag);
    element.className = name;
    this.figure.append(element);
    return element;
  }

  addSwitch(axis) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = `log ${axis}`;
    button.setAttribute('aria-pressed', 'true');
    button.addEventListener('click', () => {
      this.log[axis] = !this.log[axis];
      button.setAttribute('aria-pressed', this.log[axis]);
      this.draw();
    });
    this.tools.append(button);
  }

  addLegend() {
    const list = this.add('ul', 'legend');
    this.names.forEach((name, i) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.setAttribute('aria-pressed', this.shown[i]);
      const swatch = document.createElement('span');
      swatch.className = `swatch ${i < this.spec.lines.length ? `k${i % 8}${i < 8 ? '' : ' dashed'}` : 'level'}`;
      button.append(swatch, name);
      button.addEventListener('click', () => {
        this.shown[i] = !this.shown[i];
        button.setAttribute('aria-pressed', this.shown[i]);
        this.chart.setSeries(i + 1, { show: this.shown[i] });
      });
      const item = document.createElement('li');
      item.append(button);
      list.append(item);
    });
  }

  size() {
    const width = Math.max(240, this.figure.clientWidth);
    return { width, height: Math.min(320, Math.round(width * 0.7)) };
  }

  draw() {
    const css = getComputedStyle(document.documentElement);
    const color = (name) => css.getPropertyValue(name).trim();
    const axis = (label, values) => ({
      label, values, labelSize: 20, stroke: color('--ink'), grid: { stroke: color('--line'), width: 1 },
      ticks: { stroke: color('--line'), width: 1 },
    });
    const scale = (name, base) => (this.log[name] ? { distr: 3, log: base } : { distr: 1 });
    const levels = this.spec.lines.length;
    this.chart?.destroy();
    this.chart = new uPlot({
      ...this.size(),
      legend: { show: false },
      cursor: { drag: { x: true, y: false }, focus: { prox: 24 } },
      scales: { x: { time: false, ...scale('x', 2) }, y: scale('y', 10) },
      axes: [
        axis(this.spec.x, (u, ticks) => ticks.map((v) => (v === null ? '' : this.x(v)))),
        { ...axis(this.spec.y, (u, ticks) => ticks.map((v) => (v === null ? '' : figures(v)))), size: 64 },
      ],
      series: [{}, ...this.names.map((name, i) => ({
        label: name, show: this.shown[i], stroke: color(i < levels ? `--c${i % 8}` : '--faint'), width: 2, spanGaps: true,
        dash: i >= levels ? [6, 4] : i >= 8 ? [3, 3] : undefined, points: { show: i < levels, size: 6 },
      }))],
      hooks: { setCursor: [(u) => this.read(u.cursor.idx)] },
    }, this.data, this.canvas);
  }

  x(v) { return this.spec.bytes ? bytes(v) : figures(v); }

  // read says the values at a place of the axis, or nothing.
  read(index) {
    const x = this.data[0][index];
    if (x === undefined) {
      this.readout.textContent = '';
      return;
    }
    const values = this.names.flatMap((name, i) => {
      const y = this.data[i + 1][index];
      return this.shown[i] && y !== null ? [`${name} ${figures(y)}`] : [];
    });
    this.readout.textContent = `${this.x(x)}: ${values.join(', ')}`;
  }

  // key moves the cursor by the arrow keys. Escape removes it, and shows the whole of both axes again.
  key(e) {
    if (e.key === 'Escape') {
      this.draw();
      this.read(null);
      return;
    }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step) return;
    e.preventDefault();
    const last = this.data[0].length - 1;
    const now = this.chart.cursor.idx ?? (step > 0 ? -1 : last + 1);
    const index = Math.min(last, Math.max(0, now + step));
    const left = this.chart.valToPos(this.data[0][index], 'x');
    this.chart.setCursor({ left, top: this.chart.bbox.height / devicePixelRatio / 2 });
    this.chart.setSeries(null, { focus: true }); // no line is nearer than the others
  }
}

// figures writes a number with four significant digits.
function figures(v) {
  return v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e6) ? v.toExponential(2) : String(Number(v.toPrecision(4)));
}

// bytes writes a size with the largest of the suffixes K, M and G, powers of 1024, that divides it.
function bytes(v) {
  let suffix = 0;
  while (suffix < 3 && v !== 0 && v % 1024 === 0) {
    v /= 1024;
    suffix++;
  }
  return v + ['', 'K', 'M', 'G'][suffix];
}
