/* What makes the report answer to the pointer and the keyboard. The page is
 * complete without it; everything here adds to what stands in the markup and
 * reads titles and data-* attributes of the charts (chart_*.c, series.c). ASCII
 * only: CMakeLists.txt makes an array of char of it. */
'use strict';
(() => {
  const root = document.documentElement;

  /* Storage may be refused, e.g. for files; the choice then lasts as long as the page. */
  const stored = (action) => { try { return action(); } catch { return null; } };
  const asked = /theme=(light|dark)/.exec(location.hash);
  const theme = asked ? asked[1] : stored(() => localStorage.getItem('bang-theme'));
  /* At once, before anything is drawn. */
  if (theme === 'light' || theme === 'dark')
    root.dataset.theme = theme;

  function make(name, properties, parent) {
    const element = Object.assign(document.createElement(name), properties);
    if (parent)
      parent.append(element);
    return element;
  }

  function draw(name, attributes, parent) {
    const element = document.createElementNS(parent.namespaceURI, name);
    for (const key in attributes)
      element.setAttribute(key, attributes[key]);
    parent.append(element);
    return element;
  }

  /* As bang_number_short writes numbers: six digits, a real minus sign. */
  function number(value, percent) {
    const size = Math.abs(percent ? value * 100 : value);
    let text = String(Number(size.toPrecision(6)));
    if (size && (size < 1e-4 || size >= 1e7)) {
      const [front, power] = Number(size.toPrecision(6)).toExponential().split('e');
      const raised = power.replace('+', '').replace('-', '\u207b')
        .replace(/\d/g, (d) => '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079'[d]);
      text = front + '\u00d710' + raised;
    }
    return (value < 0 && size ? '\u2212' : '') + text + (percent ? '%' : '');
  }

  /* One box for the page, beside the pointer and inside the window. */
  const readout = make('div', { className: 'readout', hidden: true });
  function tell(x, y, heading, rows) {
    readout.replaceChildren();
    if (heading)
      make('p', { textContent: heading }, readout);
    for (const row of rows) {
      const line = make('div', {}, readout);
      if (row.color)
        make('i', { className: row.color }, line);
      make('span', { textContent: row.name }, line);
      make('b', { textContent: row.value }, line);
    }
    readout.hidden = false;
    const { width, height } = readout.getBoundingClientRect();
    const left = x + 18 + width < innerWidth ? x + 18 : x - 18 - width;
    readout.style.left = Math.max(4, left) + 'px';
    readout.style.top = Math.max(4, Math.min(y - height / 2, innerHeight - height - 4)) + 'px';
  }

  /* The browser's own hover texts would cover the readout. */
  function take_titles(svg) {
    for (const title of [...svg.querySelectorAll('.plot title, .cells title, .spots title')]) {
      title.parentNode.dataset.title = title.textContent;
      title.remove();
    }
  }

  const color_of = (group) => /\bc(\d|n)\b/.exec(group.getAttribute('class'))[0];

  function read_series(group) {
    const points = JSON.parse(group.dataset.points);
    const labels = group.dataset.labels?.split('\n') ?? [];
    return { group, points, labels, name: group.dataset.name, marks: 'marks' in group.dataset,
      step: 'step' in group.dataset, color: color_of(group) };
  }

  /* The points of a series at x; between two points of a line what is drawn there. */
  function values_at(series, x, near) {
    const { points, labels } = series, found = [];
    points.forEach((point, i) => {
      if (point && Math.abs(point[0] - x) <= near)
        found.push({ y: point[1], error: point[2], band: point[3], label: labels[i] });
    });
    for (let i = 1; i < points.length && !series.marks && !found.length; i++) {
      const a = points[i - 1], b = points[i];
      if (!a || !b || (x - a[0]) * (x - b[0]) > 0)
        continue;
      let part = (x - a[0]) / (b[0] - a[0]);
      if (series.step)
        part = Math.round(part);
      found.push({ y: a[1] + part * (b[1] - a[1]), between: true });
    }
    return series.marks ? found : found.slice(0, 1);
  }

  function value_text(value, percent) {
    let text = (value.between ? '\u2248 ' : '') + number(value.y, percent);
    const width = value.error || value.band;
    if (width)
      text += ' \u00b1 ' + number(width, percent);
    if (value.error && value.band)
      text += ' (band \u00b1 ' + number(value.band, percent) + ')';
    return text;
  }

  function enliven_lines(svg) {
    const plot = svg.querySelector('.plot');
    const [left, top, right, bottom] = JSON.parse(plot.dataset.area);
    const [x_lo, x_hi, y_lo, y_hi] = JSON.parse(plot.dataset.range);
    const percent = 'percent' in plot.dataset, share = 'share' in plot.dataset;
    const all = [...plot.querySelectorAll('[data-points]')].map(read_series);
    const cross = draw('g', { class: 'cross', 'pointer-events': 'none' }, svg);
    const to_x = (x) => left + (x - x_lo) / (x_hi - x_lo) * (right - left);
    const to_y = (y) => bottom - (y - y_lo) / (y_hi - y_lo) * (bottom - top);
    const px = (x_hi - x_lo) / (right - left);
    const shown = () => all.filter((s) => !s.group.classList.contains('off'));
    const places = () => [...new Set(shown().flatMap((s) => s.points.filter(Boolean)
      .map((p) => p[0])))].filter((x) => x >= x_lo && x <= x_hi).sort((a, b) => a - b);
    let current = null;

    function leave() {
      current = null;
      cross.replaceChildren();
      readout.hidden = true;
    }

    function show(x, client_y) {
      const rows = [];
      current = x;
      cross.replaceChildren();
      draw('path', { d: `M${to_x(x)} ${top}V${bottom}` }, cross);
      for (const series of shown())
        for (const value of values_at(series, x, px * 1e-3)) {
          const name = value.label ? `${series.name}: ${value.label}` : series.name;
          rows.push({ color: series.color, name, value: value_text(value, percent) });
          if (value.y >= y_lo && value.y <= y_hi)
            draw('circle', { class: series.color, cx: to_x(x), cy: to_y(value.y), r: 4 }, cross);
        }
      const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
      const y = client_y ?? box.top + (top + bottom) / 2 * scale;
      tell(box.left + to_x(x) * scale, y, `${plot.dataset.label || 'x'}: ${number(x, share)}`, rows);
    }

    /* The nearest x that a series has; a mark within reach comes before lines. */
    function nearest(x) {
      const closest = (list) => list.reduce((best, at) =>
        Math.abs(at - x) < Math.abs(best - x) ? at : best, Infinity);
      const mark = closest(shown().filter((s) => s.marks)
        .flatMap((s) => s.points.filter(Boolean).map((p) => p[0])));
      return Math.abs(mark - x) <= 6 * px ? mark : closest(places());
    }

    svg.addEventListener('pointermove', (event) => {
      const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
      const at = (event.clientX - box.left) / scale, down = (event.clientY - box.top) / scale;
      const inside = at >= left - 8 && at <= right + 8 && down >= top - 8 && down <= bottom + 8;
      const x = inside ? nearest(x_lo + (at - left) * px) : Infinity;
      if (Number.isFinite(x))
        show(x, event.clientY);
      else
        leave();
    });
    svg.addEventListener('pointerleave', leave);
    svg.addEventListener('blur', leave);
    svg.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], list = places();
      if (event.target !== svg || !step || !list.length)
        return;
      event.preventDefault();
      const at = current === null ? (step > 0 ? -1 : list.length) : list.indexOf(current);
      show(list[Math.max(0, Math.min(list.length - 1, at + step))]);
    });
    svg.setAttribute('tabindex', '0');
    svg.setAttribute('role', 'group');
  }

  function enliven_legend(svg) {
    for (const entry of svg.querySelectorAll('.entry')) {
      const own = svg.querySelectorAll(`.series[data-entry~="${entry.dataset.entry}"]`);
      const emphasise = (on) => {
        svg.classList.toggle('faded', on && !entry.classList.contains('off'));
        own.forEach((group) => group.classList.toggle('on', on));
      };
      const toggle = () => {
        const off = entry.classList.toggle('off');
        entry.setAttribute('aria-pressed', String(!off));
        /* A point of two entries shows while both do. */
        own.forEach((group) => group.classList.toggle('off', group.dataset.entry.split(' ').some(
          (i) => svg.querySelector(`.entry.off[data-entry="${i}"]`))));
        emphasise(!off);
      };
      entry.setAttribute('role', 'button');
      entry.setAttribute('tabindex', '0');
      entry.setAttribute('aria-pressed', 'true');
      entry.addEventListener('click', toggle);
      entry.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' && event.key !== ' ')
          return;
        event.preventDefault();
        toggle();
      });
      for (const [name, on] of [['pointerenter', 1], ['focus', 1], ['pointerleave', 0], ['blur', 0]])
        entry.addEventListener(name, () => emphasise(Boolean(on)));
    }
  }

  /* What a hover title says: lines "name: value", under the first one as a heading or,
   * where there is one only, under the name of the group. Lines of series that are hidden
   * are left out. */
  function read_title(spot, svg) {
    const lines = spot.dataset.title.split('\n');
    const heading = lines.length > 1 ? lines.shift() : spot.parentNode.dataset.name;
    const named = [...svg.querySelectorAll('.series[data-name]')];
    const rows = lines.map((line) => {
      const cut = line.lastIndexOf(': '), name = line.slice(0, cut);
      const group = named.find((series) => series.dataset.name === name);
      return { name, value: line.slice(cut + 2), color: group && color_of(group),
        off: group?.classList.contains('off') };
    });
    return [heading, rows.filter((row) => !row.off)];
  }

  /* Charts whose parts are pointed at one by one: cells, bars, columns, points. */
  function enliven_spots(svg) {
    const outline = draw('rect', { class: 'outline', visibility: 'hidden' }, svg);
    const spots = () => [...svg.querySelectorAll('[data-title]')]
      .filter((spot) => !spot.closest('.off'));
    let current = null;

    function leave() {
      current = null;
      outline.setAttribute('visibility', 'hidden');
      readout.hidden = true;
    }

    function show(spot, x, y) {
      const box = spot.getBBox();
      current = spot;
      for (const name of ['x', 'y', 'width', 'height'])
        outline.setAttribute(name, box[name]);
      outline.setAttribute('rx', spot.tagName === 'circle' ? box.width / 2 : 0);
      outline.classList.toggle('wash', spot.classList.contains('slot'));
      outline.setAttribute('visibility', 'visible');
      const place = spot.getBoundingClientRect();
      tell(x ?? place.right, y ?? place.top + place.height / 2, ...read_title(spot, svg));
    }

    svg.addEventListener('pointermove', (event) => {
      const spot = event.target.closest('[data-title]');
      if (spot)
        show(spot, event.clientX, event.clientY);
      else
        leave();
    });
    svg.addEventListener('pointerleave', leave);
    svg.addEventListener('blur', leave);
    svg.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], list = spots();
      if (event.target !== svg || !step || !list.length)
        return;
      event.preventDefault();
      const at = current ? list.indexOf(current) : step > 0 ? -1 : list.length;
      show(list[Math.max(0, Math.min(list.length - 1, at + step))]);
    });
    svg.setAttribute('tabindex', '0');
    svg.setAttribute('role', 'group');
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make('textarea', { value: text }, document.body);
      area.select();
      document.execCommand('copy');
      area.remove();
    }
  }

  function copy_button(parent, label, text) {
    const button = make('button', { type: 'button', className: 'tool', textContent: label });
    button.addEventListener('click', async () => {
      await copy(text());
      button.textContent = 'copied';
      setTimeout(() => { button.textContent = label; }, 1500);
    });
    parent.append('\u00a0', button);
  }

  /* What a cell says, with all digits where fewer are shown; '' for a dash. */
  function plain(cell) {
    if (cell.dataset.v)
      return cell.dataset.v;
    const text = cell.textContent.replace(/!+$/, cell.querySelector('.z') ? '' : '$&');
    return text === '\u2013' ? '' : text.replace(/^\u2212/, '-').replace(/^\+(?=\d)/, '');
  }

  function sort(table, heading) {
    const down = heading.getAttribute('aria-sort') === 'ascending';
    const at = heading.cellIndex, numeric = heading.classList.contains('n');
    for (const other of heading.parentNode.cells)
      other.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const key = (row) => {
      const text = plain(row.cells[at]);
      return numeric ? parseFloat(text.replace(/^[(<>~\s]+/, '').replace('\u2212', '-')) : text;
    };
    const blank = (value) => value === '' || Number.isNaN(value);
    const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => {
      if (blank(a) || blank(b)) /* always last */
        return blank(a) - blank(b);
      const order = numeric ? a - b : a.localeCompare(b, 'en', { numeric: true });
      return down ? -order : order;
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  function enliven_table(figure) {
    const table = figure.querySelector('table');
    for (const heading of table.tHead.rows[table.tHead.rows.length - 1].cells) {
      const button = make('button', { type: 'button', textContent: heading.textContent });
      button.addEventListener('click', () => sort(table, heading));
      heading.replaceChildren(button);
    }
  }

  /* The verdicts of one kind, or all of them. */
  function enliven_overview(overview) {
    const key = overview.querySelector('.key'), rows = [...overview.querySelectorAll('tr[data-holds]')];
    const every = make('li', { className: 'every', textContent: 'all' });
    make('span', { className: 'count', textContent: rows.length }, every);
    key.prepend(every);
    const choose = (holds) => {
      for (const row of rows)
        row.hidden = Boolean(holds) && row.dataset.holds !== holds;
      for (const group of overview.querySelectorAll('.items tbody'))
        group.hidden = !group.querySelector('tr[data-holds]:not([hidden])');
      for (const button of key.querySelectorAll('button'))
        button.setAttribute('aria-pressed', String(button.value === holds));
    };
    for (const item of key.children) {
      const button = make('button', { type: 'button', value: item.dataset.holds ?? '' });
      button.append(...item.childNodes);
      item.append(button);
      button.addEventListener('click', () => choose(button.value));
    }
    choose('');
  }

  /* Marks the chapter that is read; the strip of a narrow window follows. */
  function enliven_contents(nav) {
    const links = [...nav.querySelectorAll('a')], list = nav.querySelector('ol');
    const places = links.map((link) => document.getElementById(link.hash.slice(1)));
    let current = null;
    const mark = () => {
      const passed = places.filter((place) => place.getBoundingClientRect().top < innerHeight / 3);
      const link = links[Math.max(0, passed.length - 1)];
      if (link === current)
        return;
      current?.removeAttribute('aria-current');
      link.setAttribute('aria-current', 'true');
      current = link;
      list.scrollLeft = link.offsetLeft - list.offsetLeft - (list.clientWidth - link.offsetWidth) / 2;
    };
    addEventListener('scroll', mark, { passive: true });
    mark();
  }

  function add_theme_switch(header) {
    const group = make('div', { className: 'theme' }, header);
    group.setAttribute('role', 'group');
    group.setAttribute('aria-label', 'Theme');
    const mark = () => {
      for (const button of group.children)
        button.setAttribute('aria-pressed', String(button.value === (root.dataset.theme ?? 'auto')));
    };
    for (const value of ['auto', 'light', 'dark']) {
      const button = make('button', { type: 'button', value, textContent: value }, group);
      button.addEventListener('click', () => {
        if (value === 'auto')
          delete root.dataset.theme;
        else
          root.dataset.theme = value;
        stored(() => localStorage.setItem('bang-theme', value));
        mark();
      });
    }
    mark();
  }

  /* Nothing unfolds on paper. */
  function enliven_folds(folds) {
    let opened = [];
    addEventListener('beforeprint', () => {
      opened = folds.filter((fold) => !fold.open);
      opened.forEach((fold) => { fold.open = true; });
    });
    addEventListener('afterprint', () => opened.forEach((fold) => { fold.open = false; }));
  }

  document.addEventListener('DOMContentLoaded', () => {
    root.classList.add('scripted');
    document.body.append(readout);
    add_theme_switch(document.querySelector('header'));
    for (const svg of document.querySelectorAll('.chart > svg')) {
      take_titles(svg);
      if (svg.querySelector('.plot'))
        enliven_lines(svg);
      else if (svg.querySelector('.cells, .spots'))
        enliven_spots(svg);
      enliven_legend(svg);
    }
    document.querySelectorAll('figure.table').forEach(enliven_table);
    document.querySelectorAll('#overview').forEach(enliven_overview);
    document.querySelectorAll('nav').forEach(enliven_contents);
    enliven_folds([...document.querySelectorAll('.folded')]);
    for (const link of document.querySelectorAll('a.csv'))
      copy_button(link.parentNode, 'copy', () => decodeURIComponent(link.href.split(/,(.*)/s)[1]));
    for (const command of document.querySelectorAll('.command'))
      copy_button(command, 'copy', () => command.querySelector('code').textContent);
  });
})();
