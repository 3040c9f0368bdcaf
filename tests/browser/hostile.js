/* Looks for names of files, layers, classes and data sets that became more than text. hostile.sh
 * puts this behind a page whose own policy is taken away, so that nothing else protects it; the
 * names would call owned(). */
'use strict';
window.runs = 0;
window.owned = () => { runs++; };
document.addEventListener('DOMContentLoaded', () => {
  const problems = [];
  let checks = 0;
  const check = (holds, what) => {
    checks++;
    if (!holds)
      problems.push(what);
  };
  const all = (selector) => [...document.querySelectorAll(selector)];
  const look = () => {
    check(document.scripts.length === 2, 'a text became a script');
    check(all('iframe, object, embed, form, base, link, svg image, svg foreignObject, svg animate')
      .length === 0, 'a text became an element that loads something');
    check(all('img').every((image) => image.src.startsWith('data:image/png;base64,')),
      'a picture comes from elsewhere');
    check(all('a[href]').every((link) => /^(#|data:text\/csv|blob:)/.test(link.getAttribute('href'))),
      'a link leads elsewhere');
    for (const element of all('*'))
      for (const attribute of element.attributes)
        check(!/^on/i.test(attribute.name), `a text became ${attribute.name}`);
  };
  look();
  const shown = document.body.textContent + all('*').flatMap((element) =>
    [...element.attributes].map((attribute) => attribute.value)).join(' ');
  for (const name of expected)
    check(shown.includes(name), `not shown as it is: ${name}`);
  /* All that answers: what is pointed at is told in a box, tables are sorted, series hidden. */
  for (const element of all('main *')) {
    const box = element.getBoundingClientRect();
    const at = { bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
    for (const kind of ['pointerenter', 'pointermove', 'pointerover'])
      element.dispatchEvent(new PointerEvent(kind, at));
  }
  for (const element of all('button, .entry, summary'))
    element.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }));
  look();
  setTimeout(() => {
    check(runs === 0, `a text ran as a script, ${runs} times`);
    const findings = document.createElement('pre');
    findings.textContent =
      `\n${problems.map((line) => `problem: ${line}\n`).join('')}done ${checks}\n`;
    document.body.replaceChildren(findings);
  }, 500);
});
