/* Looks at the page of bang diagnose in a browser, which has no records to be held against: all
 * that is drawn is whole, and whatever answers to the pointer does so without a complaint.
 * report.sh puts this behind the page and reads the text of #findings. */
'use strict';
document.addEventListener('DOMContentLoaded', () => {
  const problems = [];
  let checks = 0;
  const check = (holds, what) => {
    checks++;
    if (!holds)
      problems.push(what);
  };
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  check(all('.problem').length === 0, `cannot be shown: ${all('.problem')[0]?.textContent}`);
  check(document.scripts.length === 2, 'a text became a script');
  check(document.documentElement.scrollWidth <= innerWidth, 'the page is wider than the window');
  const are_short = all('td').every((cell) => cell.textContent.length < 60);
  for (const [i, box] of all('.scroll').entries())
    check(innerWidth < 1280 || !are_short || box.scrollWidth <= box.clientWidth, `table ${i + 1} is cut`);
  check(all('.verdict').length === 5, `${all('.verdict').length} verdicts`);
  check(!/\bnan\b/i.test(document.querySelector('main').textContent), 'a NaN is shown');
  const svgs = all('.chart > svg');
  check(svgs.length >= 15, `${svgs.length} charts`);
  svgs.forEach((svg, i) => {
    const box = svg.getBoundingClientRect(), where = `chart ${i + 1}`;
    check(box.width > 100 && box.height > 100, `${where} is not drawn`);
    check(!svg.textContent.includes('no data'), `${where} is empty`);
    for (const text of all('text', svg)) {
      const inner = text.getBoundingClientRect();
      check(inner.left >= box.left - 1 && inner.right <= box.right + 1 &&
        inner.top >= box.top - 1 && inner.bottom <= box.bottom + 1,
      `${where}: text is cut: ${text.textContent}`);
    }
    const middle = { bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
    for (const mark of [svg, ...all('.slot, .spot, rect[data-title]', svg)])
      mark.dispatchEvent(new PointerEvent('pointermove', middle));
    svg.dispatchEvent(new PointerEvent('pointerleave'));
    for (const entry of all('.entry', svg)) {
      entry.dispatchEvent(new MouseEvent('click', { bubbles: true }));
      check(entry.getAttribute('aria-pressed') === 'false', `${where}: a click does not hide`);
      entry.dispatchEvent(new MouseEvent('click', { bubbles: true }));
    }
  });
  for (const table of all('figure.table table'))
    for (const heading of [...table.tHead.rows].pop().cells) {
      const rows = table.tBodies[0].rows.length;
      heading.querySelector('button').click();
      check(heading.getAttribute('aria-sort') === 'ascending' &&
        table.tBodies[0].rows.length === rows, `not sorted by ${heading.textContent}`);
    }
  const light = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g)[0] > 128;
  check(light !== expect_dark, 'the theme is another one');

  const findings = document.createElement('pre');
  findings.id = 'findings';
  findings.textContent = `\n${problems.map((line) => `problem: ${line}\n`).join('')}done ${checks}\n`;
  document.body.replaceChildren(findings);
  if (parent !== self)
    parent.postMessage(findings.textContent, '*');
});
