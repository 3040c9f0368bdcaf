/* Drives a report in a browser and holds it against its records. report.sh
 * puts this behind the page, together with `records`, and reads the text of
 * #findings: a line "problem: ..." each, then "done N", the number of checks. */
'use strict';
document.addEventListener('DOMContentLoaded', async () => {
  const problems = [];
  let checks = 0;
  const check = (holds, what) => {
    checks++;
    if (!holds)
      problems.push(what);
  };
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const parse = (text) => {
    const raised = '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079';
    return Number(text.replace(/\u2212/g, '-').replace(/%$/, '')
      .replace(/\u00d710(\u207b?)([^ ]+)/, (_, sign, digits) => 'e' + (sign ? '-' : '') +
        [...digits].map((d) => raised.indexOf(d)).join('')));
  };
  const close = (a, b) => Math.abs(a - b) <= 2e-5 * Math.max(Math.abs(a), Math.abs(b), 1e-300);
  const fire = (target, name, more) =>
    target.dispatchEvent(new PointerEvent(name, { bubbles: name !== 'pointerenter', ...more }));
  const middle = (element) => {
    const box = element.getBoundingClientRect();
    return { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
  };
  const readout = document.querySelector('.readout');
  const told = () => all('div', readout).map((row) => ({
    name: row.querySelector('span').textContent, value: row.querySelector('b').textContent }));

  /* As the page has them: by section, sections by their first record. */
  const in_order = [...new Set(records.map((record) => record.section))]
    .flatMap((name) => records.filter((record) => record.section === name));
  const entries = in_order.flatMap((record) => record.show ?? []);
  const of_kind = (...kinds) => entries.filter((entry) => kinds.includes(entry.kind));
  const charts = of_kind('lines', 'heat', 'bars', 'columns', 'scatter', 'reliability');
  const svgs = all('.chart > svg');

  /* What stands in the page */
  check(svgs.length === charts.length, `${svgs.length} charts for ${charts.length} entries`);
  check(all('figure.table').length === of_kind('table').length, 'not every table is there');
  check(all('.picture img').length === of_kind('picture').length, 'not every picture is there');
  check(all('.facts').length === of_kind('facts').length, 'not every list of facts is there');
  check(document.scripts.length === 2, 'text of a record became a script');
  check(all('main b').every((b) => /^(Table|Figure) \d+\.$/.test(b.textContent)),
    'text of a record became markup');
  for (const image of all('.picture img')) {
    await image.decode().catch(() => check(false, 'a picture cannot be read'));
    check(image.naturalWidth > 0, 'a picture is empty');
  }
  for (const figure of all('figure'))
    check(figure.id && figure.querySelector(`a[href="#${figure.id}"]`), 'a figure has no link');
  check(document.documentElement.scrollWidth <= innerWidth, 'the page is wider than the window');
  svgs.forEach((svg, i) => {
    const box = svg.getBoundingClientRect(), where = `chart ${i + 1}`;
    check(box.width > 100 && box.height > 70, `${where} is not drawn`);
    for (const text of all('text', svg)) {
      const inner = text.getBoundingClientRect();
      check(inner.left >= box.left - 1 && inner.right <= box.right + 1 &&
        inner.top >= box.top - 1 && inner.bottom <= box.bottom + 1,
      `${where}: text is cut: ${text.textContent}`);
    }
  });

  /* Every chart and table has its numbers as CSV: to save, and to copy. */
  let copied;
  Object.defineProperty(navigator, 'clipboard', {
    value: { writeText: async (text) => { copied = text; } } });
  const read_csv = (text) => {
    const rows = [[]];
    for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)/g)) {
      rows[rows.length - 1].push(quoted?.replace(/""/g, '"') ?? plain);
      if (end === '\n')
        rows.push([]);
    }
    return rows.slice(0, -1);
  };
  const numbers_of = {
    lines: (entry) => {
      const more = ['band', 'labels'].filter((key) => entry.series.some((one) => one[key]));
      return [['series', 'x', 'y', 'error', ...more.map((key) => key.replace('labels', 'label'))],
        ...entry.series.flatMap((one) => one.x.map((x, i) =>
          [one.name, x, one.y[i], one.error?.[i], ...more.map((key) => one[key]?.[i])]))];
    },
    heat: (entry) => [['panel', 'x', 'y', 'value'], ...entry.panels.flatMap((panel) =>
      panel.values.flatMap((row, r) => row.map((v, c) => [panel.title, entry.x[c], entry.y[r], v])))],
    bars: (entry) => [['name', 'value'], ...entry.names.map((name, i) => [name, entry.values[i]])],
    columns: (entry) => [['name', 'series', 'value', 'low', 'high'], ...entry.names.flatMap((name, i) =>
      entry.series.map((one) => [name, one.name, one.values[i], one.low?.[i], one.high?.[i]]))],
    scatter: (entry) => [['name', 'series', 'x', 'y'], ...entry.series.flatMap((one) =>
      one.x.map((x, i) => [entry.names?.[i], one.name, x, one.y[i]]))],
    reliability: (entry) => [['panel', 'low', 'high', 'count', 'confidence', 'accuracy'],
      ...entry.panels.flatMap((panel) => panel.bins.map((bin) =>
        [panel.title, bin.low, bin.high, bin.count, bin.confidence, bin.accuracy]))],
    table: (entry) => {
      const groups = entry.groups?.flatMap(([name, count]) => Array(count).fill(name)) ?? [];
      return [entry.columns.map((name, c) => groups[c] ? `${groups[c]}: ${name}` : name), ...entry.rows];
    },
  };
  const files = new Set();
  const check_csv = async (figure, entry, where) => {
    const link = figure.querySelector('a.csv'), button = link.nextElementSibling;
    const text = decodeURIComponent(link.href.replace(/^data:text\/csv;charset=utf-8,/, ''));
    const rows = read_csv(text), want = numbers_of[entry.kind](entry);
    const same = (cell, value) => typeof value === 'number' ? cell !== '' && Number(cell) === value :
      cell === (typeof value === 'string' ? value : '');
    check(/^[^/]+\.csv$/.test(link.download) && !files.has(link.download),
      `${where}: the CSV is called ${link.download}`);
    files.add(link.download);
    check(rows.length === want.length, `${where}: the CSV has ${rows.length} rows for ${want.length}`);
    rows.forEach((row, r) => check(row.length === want[r]?.length &&
      row.every((cell, c) => same(cell, want[r][c])), `${where}, row ${r + 1} of the CSV: ${row}`));
    button.click();
    await null;
    check(copied === text, `${where}: the CSV is not copied`);
  };
  const with_numbers = all('figure').filter((figure) => !figure.querySelector('.picture'));
  for (const [i, entry] of of_kind(...Object.keys(numbers_of)).entries())
    await check_csv(with_numbers[i], entry, `CSV ${i + 1}`);

  /* Every table says what its record says, and sorts. */
  const cell_fits = (cell, value) => {
    const text = cell.textContent.replace(/!+$/, cell.querySelector('.z') ? '' : '$&');
    if (value === null)
      return text === '\u2013';
    if (typeof value === 'boolean')
      return text === (value ? 'yes' : 'no');
    if (typeof value === 'string')
      return text === value || text === value.replace(/^-/, '\u2212');
    const decimals = /^[^.]*\.(\d+)$/.exec(text.replace(/\u00d7.*/, ''));
    const power = parse(text) / parse(text.replace(/\u00d7.*/, '')) || 1;
    const half = 0.5000001 * 10 ** -(decimals ? decimals[1].length : 0) * power;
    return Math.abs(parse(text) - value) <= half &&
      Number(cell.dataset.v ?? parse(text)) === value;
  };
  const rows_of = (table) => [...table.tBodies[0].rows];
  for (const [i, entry] of of_kind('table').entries()) {
    const figure = document.getElementById(`table-${i + 1}`), table = figure.querySelector('table');
    const where = `table ${i + 1}`, rows = rows_of(table), heads = [...table.tHead.rows].pop().cells;
    check(rows.length === entry.rows.length, `${where} has ${rows.length} rows`);
    check([...heads].every((cell, c) => cell.textContent === entry.columns[c]),
      `${where}: the names of the columns differ`);
    entry.rows.forEach((row, r) => row.forEach((value, c) =>
      check(cell_fits(rows[r].cells[c], value),
        `${where}, row ${r + 1}: "${rows[r].cells[c].textContent}" for ${value}`)));
    entry.columns.forEach((_, c) => {
      const numbers = entry.rows.map((row) => row[c]).filter((v) => v !== null);
      if (!numbers.every((v) => typeof v === 'number'))
        return;
      for (const down of [false, true]) {
        heads[c].querySelector('button').click();
        const want = [...numbers].sort((a, b) => down ? b - a : a - b);
        check(rows_of(table).every((row, r) => cell_fits(row.cells[c], want[r] ?? null)),
          `${where}, column ${c + 1}: not sorted`);
      }
    });
  }

  /* Line charts: all values at the place of the pointer; legends. */
  const check_lines = (svg, entry, where) => {
    const plot = svg.querySelector('.plot'), factor = entry.percent ? 100 : 1;
    if (!plot)
      return check(svg.textContent.includes('no data'), `${where}: neither data nor a word about it`);
    const [left, top, right, bottom] = JSON.parse(plot.dataset.area);
    const [lo, hi] = JSON.parse(plot.dataset.range);
    const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const series = [...entry.series].sort((a, b) => Boolean(a.points) - Boolean(b.points));
    const x = series[0].x[Math.floor(series[0].x.length / 3)];
    fire(svg, 'pointermove', { clientY: box.top + (top + bottom) / 2 * scale,
      clientX: box.left + (left + (x - lo) / (hi - lo) * (right - left)) * scale });
    check(!readout.hidden, `${where}: no readout`);
    check(close(parse(readout.querySelector('p').textContent.split(': ').pop()),
      x * (entry.x_percent ? 100 : 1)),
      `${where}: ${readout.querySelector('p').textContent} instead of ${x}`);
    check(all('.cross path', svg).length === 1, `${where}: no crosshair`);
    const lines = told();
    for (const one of series) {
      const at = one.x.indexOf(x), label = one.labels?.[at];
      const name = (one.name ?? '') + (label ? `: ${label}` : '');
      const line = lines.find((row) => row.name === name && !row.used);
      if (at < 0 || one.y[at] === null)
        continue;
      check(line, `${where}: ${one.name} is not told`);
      if (!line)
        continue;
      line.used = true;
      const [y, error] = line.value.replace(/ \(band.*/, '').split(' \u00b1 ');
      const width = one.error?.[at] || one.band?.[at];
      check(close(parse(y), one.y[at] * factor), `${where}: ${line.value} for ${one.y[at]}`);
      check(width ? error && close(parse(error), width * factor) : !error,
        `${where}: ${line.value} with the error ${width}`);
    }
    fire(svg, 'pointerleave');
    check(readout.hidden && !all('.cross path', svg).length, `${where}: the readout stays`);
    svg.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
    check(!readout.hidden, `${where}: no readout by keyboard`);
    svg.dispatchEvent(new FocusEvent('blur'));
  };
  const check_legend = (svg, where) => {
    for (const entry of all('.entry', svg)) {
      const own = all(`.series[data-entry~="${entry.dataset.entry}"]`, svg);
      const state = () => `${entry.getAttribute('aria-pressed')} ` +
        own.every((group) => getComputedStyle(group).display === 'none');
      check(!svg.querySelector('.plot, .spots') || own.length > 0, `${where}: an entry without series`);
      check(entry.tabIndex === 0 && state().startsWith('true'), `${where}: no button`);
      fire(entry, 'pointerenter');
      check(svg.classList.contains('faded'), `${where}: no emphasis`);
      fire(entry, 'click');
      check(state() === 'false true', `${where}: a click does not hide: ${state()}`);
      entry.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
      check(state().startsWith('true') && (!own.length || state() === 'true false'),
        `${where}: Enter does not show again`);
      fire(entry, 'pointerleave');
      check(!svg.classList.contains('faded'), `${where}: emphasis stays`);
    }
  };
  const check_cells = (svg, entry, where) => {
    const cells = all('rect[data-title]', svg), factor = entry.percent ? 100 : 1;
    const drawn = entry.values ?? entry.panels.flatMap((panel) => panel.values.flat());
    const values = drawn.filter((v) => v !== null);
    check(cells.length === values.length, `${where}: ${cells.length} cells`);
    cells.forEach((cell, i) => {
      fire(cell, 'pointermove', middle(cell));
      const value = told()[0]?.value ?? '';
      check(close(parse(value), values[i] * factor), `${where}: ${value} for ${values[i]}`);
    });
    if (!cells.length)
      return check(svg.textContent.includes('no data'), `${where}: neither data nor a word about it`);
    const outline = svg.querySelector('.outline'), last = cells[cells.length - 1];
    check(outline.getAttribute('visibility') === 'visible' &&
      close(Number(outline.getAttribute('x')), Number(last.getAttribute('x'))), `${where}: no outline`);
    fire(svg, 'pointerleave');
    check(readout.hidden, `${where}: the readout stays`);
  };
  /* A bar is as long as its value, on the side of 0 where it belongs. */
  const check_bars = (svg, entry, where) => {
    const bars = all('.bar', svg), values = entry.values.filter(Boolean);
    const number = (bar, name) => Number(bar.getAttribute(name));
    const longest = values.reduce((a, v) => Math.max(a, Math.abs(v)), 0);
    const scale = bars.reduce((a, bar) => Math.max(a, number(bar, 'width')), 0) / longest;
    check(bars.length === values.length, `${where}: ${bars.length} bars`);
    bars.forEach((bar, i) => {
      const off = Math.abs(number(bar, 'width') - Math.abs(values[i]) * scale);
      check(off < 0.8, `${where}: the bar of ${values[i]} is off by ${off} px`);
    });
    check(entry.names.length > 60 || entry.names.every((name) =>
      all('text', svg).some((text) => text.textContent.endsWith(name)) || name.length > 30),
    `${where}: a name is missing`);
    check_cells(svg, entry, where);
  };
  /* Points at every spot with the pointer; says what it told. */
  const point_at_all = (svg, where) => {
    const spots = all('.spots [data-title]', svg), texts = spots.map((spot) => {
      fire(spot, 'pointermove', middle(spot));
      check(!readout.hidden, `${where}: a spot without a readout`);
      check(svg.querySelector('.outline').getAttribute('visibility') === 'visible',
        `${where}: no outline`);
      return { heading: readout.querySelector('p')?.textContent, rows: told() };
    });
    fire(svg, 'pointerleave');
    check(readout.hidden, `${where}: the readout stays`);
    svg.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
    check(!readout.hidden === Boolean(spots.length), `${where}: no readout by keyboard`);
    svg.dispatchEvent(new FocusEvent('blur'));
    if (!spots.length)
      check(svg.textContent.includes('no data'), `${where}: neither data nor a word about it`);
    return texts;
  };
  const check_columns = (svg, entry, where) => {
    const factor = entry.percent ? 100 : 1, bars = all('.bar', svg);
    const values = entry.series.flatMap((one) => one.values).filter(Boolean);
    const height = (bar) => Number(bar.getAttribute('height')) + (entry.stacked ? 1 : 0);
    const longest = values.reduce((a, v) => Math.max(a, Math.abs(v)), 0);
    const scale = bars.reduce((a, bar) => Math.max(a, height(bar)), 0) / longest;
    check(bars.length === values.length, `${where}: ${bars.length} columns`);
    bars.forEach((bar, i) => check(Math.abs(height(bar) - Math.abs(values[i]) * scale) < 1,
      `${where}: the column of ${values[i]} is ${height(bar)} px high`));
    point_at_all(svg, where).forEach(({ heading, rows }, i) => {
      const own = entry.series.filter((one) => one.values[i] !== null);
      if (!own.length)
        return check(rows[0].name === entry.names[i] && rows[0].value === 'no data',
          `${where}: ${rows[0].value} of ${rows[0].name}`);
      check(heading === entry.names[i], `${where}: ${heading}`);
      check(rows.length === own.length, `${where}: ${rows.length} values of a name`);
      own.forEach((one, k) => {
        const [value, ends] = rows[k].value.split(' [');
        check(close(parse(value), one.values[i] * factor) && rows[k].name === one.name,
          `${where}: ${rows[k].name} ${value} for ${one.values[i]}`);
        check(!one.low === !ends && (!ends || close(parse(ends.split(', ')[0]), one.low[i] * factor)),
          `${where}: the interval ${ends}`);
      });
    });
    /* A hidden series is not told. */
    const hidden = svg.querySelector('.entry'), spot = svg.querySelector('.slot');
    if (!spot)
      return;
    fire(hidden, 'click');
    fire(spot, 'pointermove', middle(spot));
    check(!told().some((row) => row.name === entry.series[0].name),
      `${where}: a hidden series is told`);
    fire(hidden, 'click');
    fire(svg, 'pointerleave');
  };
  const check_scatter = (svg, entry, where) => {
    const factor = entry.percent ? 100 : 1;
    const points = entry.series.flatMap((one) => one.x.map((x, i) => ({ x, y: one.y[i],
      heading: `${one.name}, ${entry.names[i]}` }))).filter(({ x, y }) => x !== null && y !== null);
    const texts = point_at_all(svg, where);
    check(texts.length === points.length, `${where}: ${texts.length} points`);
    texts.forEach(({ heading, rows }, i) => {
      const [x, y] = rows.map((row) => parse(row.value));
      check(heading === points[i].heading, `${where}: ${heading}`);
      check(close(x, points[i].x * factor) && close(y, points[i].y * factor),
        `${where}: ${x}, ${y} for ${points[i].x}, ${points[i].y}`);
    });
    /* A point belongs to two entries and shows while both do. */
    const entries = all('.entry', svg), mark = svg.querySelector('.spots .series');
    if (!mark)
      return;
    const [model, set] = mark.dataset.entry.split(' ').map((i) => entries[i]);
    const shows = () => getComputedStyle(mark).display !== 'none';
    const states = [model, set, model, set].map((which) => (fire(which, 'click'), shows()));
    check(states.join() === 'false,false,false,true', `${where}: shown ${states}`);
    entries.forEach((which) => fire(which, 'pointerleave'));
  };
  const check_reliability = (svg, entry, where) => {
    const bins = entry.panels.flatMap((panel) => panel.bins.map((bin) => ({ ...bin, panel })));
    const texts = point_at_all(svg, where);
    check(texts.length === bins.length, `${where}: ${texts.length} bins`);
    texts.forEach(({ heading, rows }, i) => {
      const value = (name) => rows.find((row) => row.name === name)?.value;
      check(heading.startsWith(`${bins[i].panel.title}, `), `${where}: ${heading}`);
      check(parse(value('samples').split(' ')[0]) === bins[i].count, `${where}: ${value('samples')}`);
      for (const name of ['accuracy', 'confidence'])
        check(bins[i][name] === null ? value(name) === undefined :
          close(parse(value(name)), bins[i][name] * 100), `${where}: ${name} ${value(name)}`);
    });
    const filled = bins.filter((bin) => bin.count);
    check(all('.bar', svg).length === filled.length && all('.gap', svg).length === filled.length,
      `${where}: not every bin is drawn`);
    check(!texts.length || entry.panels.every((panel) => panel.ece === undefined ||
      svg.textContent.includes(`ECE ${(panel.ece * 100).toFixed(1)}%`)), `${where}: no ECE`);
  };
  /* Text covers no other text. What is turned has a box that says too much; cells are too many. */
  const check_overlap = (svg, where) => {
    const texts = all('text', svg).filter((text) => !text.closest('[transform], .cells'))
      .map((text) => [text.textContent, text.getBoundingClientRect()]);
    texts.forEach(([a, p], i) => texts.slice(i + 1).forEach(([b, q]) =>
      check(p.right <= q.left + 1 || q.right <= p.left + 1 || p.bottom <= q.top + 3 ||
        q.bottom <= p.top + 3, `${where}: "${a}" on "${b}"`)));
  };
  charts.forEach((entry, i) => {
    const where = `chart ${i + 1}`;
    ({ lines: check_lines, heat: check_cells, bars: check_bars, columns: check_columns,
      scatter: check_scatter, reliability: check_reliability })[entry.kind](svgs[i], entry, where);
    check_legend(svgs[i], where);
    check_overlap(svgs[i], where);
  });

  /* The overview: each verdict once, with its item and a link to where it is shown. */
  const words = { yes: 'holds', partly: 'partly', no: 'does not hold here', open: 'open' };
  const verdicts = of_kind('verdict').filter((entry) => entry.holds in words);
  const rows = all('#overview tr[data-holds]');
  const visible = (element) => getComputedStyle(element).display !== 'none';
  const told_as = (chip) => chip.textContent.replace(/^\S+ /, '');
  check(rows.length === verdicts.length, `${rows.length} verdicts in the overview`);
  rows.forEach((row, i) => {
    const [item, claim, chip] = row.cells, entry = verdicts[i];
    const target = document.getElementById(claim.querySelector('a').hash.slice(1));
    check(item.textContent === (entry.item ?? '') && claim.textContent === entry.claim &&
      told_as(chip) === words[entry.holds] && row.dataset.holds === entry.holds,
    `row ${i + 1} of the overview: ${row.textContent}`);
    check(target?.classList.contains('verdict') && target.textContent.includes(entry.claim) &&
      target.textContent.includes(entry.because) && target.textContent.includes(entry.item ?? '') &&
      told_as(target.querySelector('.chip')) === words[entry.holds],
    `row ${i + 1} of the overview leads elsewhere`);
  });
  check(all('.verdict').length === verdicts.length, `${all('.verdict').length} verdicts are shown`);
  const count_of = (holds) => verdicts.filter((entry) => entry.holds === holds).length;
  const kinds = Object.keys(words).filter(count_of);
  check(all('#overview > .tally span').map((part) => `${part.className} ${part.textContent}`).join() ===
    kinds.map((holds) => `${holds} ${count_of(holds)}`).join(), 'the bar of verdicts has other counts');
  const headline = document.querySelector('.headline').textContent.match(/\d+/g).map(Number);
  check([verdicts.length, count_of('yes'), count_of('partly'), count_of('no'), count_of('open')]
    .every((n, i) => n === (headline[i] ?? 0)), `the headline says ${headline}`);
  for (const button of all('.key button').reverse()) { /* "all" is the last */
    button.click();
    const left = rows.filter(visible), holds = button.value;
    check(left.length === (holds ? count_of(holds) : verdicts.length) &&
      Number(button.querySelector('.count').textContent) === left.length &&
      left.every((row) => !holds || row.dataset.holds === holds), `${holds} shows ${left.length} rows`);
    check(all('.items tbody').every((group) => visible(group) ===
      [...group.rows].some((row) => row.dataset.holds && visible(row))), 'a chapter without verdicts');
    check(button.getAttribute('aria-pressed') === 'true' &&
      all('.key [aria-pressed=true]').length === 1, `${holds} is not marked`);
  }
  check(all('.key button').length === kinds.length + 1, 'not every kind can be chosen');

  /* Chapters and links: all lead somewhere, one of the contents is marked. */
  const sections = [...new Set(records.filter((record) => record.show)
    .map((record) => record.section))];
  const texts = (selector) => all(selector).map((element) => element.textContent);
  if (sections.length > 1) {
    check(texts('nav a').slice(1).join() === sections.join(), `the contents are ${texts('nav a')}`);
    check(texts('.chapters a').join() === sections.join(), `chapters: ${texts('.chapters a')}`);
    check(all('nav [aria-current]').length === 1, 'no chapter is marked');
  }
  check(texts('section[id^=s] > h2').join() === sections.join(), 'the headings are others');
  for (const link of all('a[href^="#"]'))
    check(document.getElementById(link.hash.slice(1)), `${link.hash} leads nowhere`);
  const folded = sections.flatMap((name) => {
    const plain = records.filter((record) => record.section === name && record.show &&
      record.show.every((entry) => ['text', 'table'].includes(entry.kind)));
    return plain.length < 5 ? [] : plain;
  });
  check(texts('.folded > summary').join() === folded.map((record) => record.key).join(),
    `folded: ${texts('.folded > summary')}`);
  check(all('.folded').every((one) => !one.open), 'a fold is open');

  /* On paper: light, no controls, nothing filtered or folded. */
  const print = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])
    .filter((rule) => rule.media?.mediaText === 'print');
  check(print.length > 0, 'nothing is said of paper');
  all('.key button').pop().click();
  dispatchEvent(new Event('beforeprint'));
  print.forEach((rule) => { rule.media.mediaText = 'all'; });
  for (const control of all('nav, .theme, .tool, .live, .key .every'))
    check(!visible(control), `on paper there is a ${control.className || control.tagName}`);
  check(rows.every(visible), 'a filter holds on paper');
  check(all('.items tbody').every(visible), 'a filter of chapters holds on paper');
  check(all('.folded').every((one) => one.open), 'a fold stays closed on paper');
  check(all('.paper').every(visible), 'a command is missing on paper');
  const paper = getComputedStyle(document.body).backgroundColor;
  check(paper === 'rgb(255, 255, 255)', `paper is ${paper}`);
  print.forEach((rule) => { rule.media.mediaText = 'print'; });
  dispatchEvent(new Event('afterprint'));
  check(all('.folded').every((one) => !one.open), 'a fold stays open');
  document.querySelector('.key button').click();

  /* Themes: text stands out from its ground, and the switch works. */
  const light = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).map(Number);
    return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
  };
  const check_theme = (dark) => {
    const style = (element) => getComputedStyle(element);
    const ground = light(style(document.body).backgroundColor);
    check(dark ? ground < 0.15 : ground > 0.9, `the ground is ${ground}`);
    for (const chip of all('.chip, .tally span'))
      check(Math.abs(light(style(chip).color) - light(style(chip).backgroundColor)) > 0.35,
        `pale: ${chip.textContent}`);
    for (const text of all('.headline, .items a, .items .item, .chapters a, .chapters p, nav a'))
      check(Math.abs(light(style(text).color) - ground) > 0.4, `pale: ${text.textContent}`);
    for (const chart of all('.chart')) {
      const card = light(style(chart).backgroundColor);
      check(Math.abs(card - ground) < 0.1, `a chart glares: ${card}`);
      check(style(chart.querySelector('.ground')).fill === 'none', 'a chart keeps its ground');
      for (const text of all('text:not(.cells text, .ink)', chart))
        check(Math.abs(light(style(text).fill) - card) > 0.4, `pale: ${text.textContent}`);
      for (const text of all('.ink', chart)) /* on the column before it */
        check(Math.abs(light(style(text).fill) - light(style(text.previousElementSibling).color)) >
          0.3, `a pale value: ${text.textContent}`);
      for (const group of all('.series', chart))
        check(Math.abs(light(style(group).color) - card) > 0.25, 'a pale series');
      for (const text of all('.cells text', chart)) {
        const cell = text.previousElementSibling;
        check(Math.abs(light(style(text).fill) - light(style(cell).fill)) > 0.35,
          `a pale value: ${text.textContent}`);
      }
    }
  };
  check_theme(expect_dark);
  const [auto, ...others] = all('.theme button');
  for (const button of others) {
    button.click();
    check(button.getAttribute('aria-pressed') === 'true', 'the switch does not move');
    check_theme(button.value === 'dark');
  }
  auto.click();
  check(!('theme' in document.documentElement.dataset), 'auto does not follow the system');

  const findings = document.createElement('pre');
  findings.id = 'findings';
  findings.textContent = `\n${problems.map((line) => `problem: ${line}\n`).join('')}done ${checks}\n`;
  document.body.replaceChildren(findings);
  if (parent !== self)
    parent.postMessage(findings.textContent, '*');
});
