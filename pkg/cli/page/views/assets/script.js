'use strict';
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
// An announced text is read aloud each time that it is set.
function announce(id, text) {
  const element = document.getElementById(id);
  if (element.textContent !== text) element.textContent = text;
}
// Hides the rows, names and lines of the webhooks that do not contain the text of the filter.
function filter() {
  const input = document.getElementById('filter');
  if (!input) return;
  const text = input.value.toLowerCase();
  const rows = all('#webhooks tbody tr');
  const hidden = new Set();
  for (const row of rows) {
    row.hidden = !row.textContent.toLowerCase().includes(text);
    if (row.hidden) hidden.add(row.dataset.webhook);
  }
  announce('matches', text ? rows.length - hidden.size + ' of ' + rows.length : '');
  arrange(hidden);
}
// Draws the map without some webhooks, and without the resources that only they intercept.
function arrange(hidden) {
  const map = document.querySelector('svg.map');
  if (!map || !hidden.size && !map.querySelector('.filtered')) return;
  const lines = all('path', map);
  const shown = lines.filter(line => !hidden.has(line.dataset.webhook));
  const resources = new Set(shown.map(line => line.dataset.resource));
  const place = (elements, key, drawn) => {
    const rows = new Map();
    for (const element of elements) {
      element.classList.toggle('filtered', !drawn(element.dataset[key]));
      if (drawn(element.dataset[key])) rows.set(element.dataset[key], 20 + 20 * rows.size);
    }
    for (const element of elements) (element.querySelector('text') || element).setAttribute('y', rows.get(element.dataset[key]) || 0);
    return rows;
  };
  const left = place(all('a', map), 'webhook', id => !hidden.has(id));
  const right = place(all('text[data-resource]', map), 'resource', number => hidden.size === 0 || resources.has(number));
  for (const line of lines) {
    const from = left.get(line.dataset.webhook), to = right.get(line.dataset.resource);
    line.classList.toggle('filtered', from === undefined);
    if (from !== undefined) line.setAttribute('d', line.getAttribute('d').replace(/^M(\d+) \d+C(\d+) \d+ (\d+) \d+ (\d+) \d+$/, `M$1 ${from}C$2 ${from} $3 ${to} $4 ${to}`));
  }
  map.setAttribute('viewBox', map.getAttribute('viewBox').replace(/\d+$/, 20 + 20 * Math.max(left.size, right.size)));
}
// Marks the lines of the webhook or resource under the pointer.
function mark(event) {
  const { webhook, resource } = event.target.closest?.('[data-webhook], [data-resource]')?.dataset || {};
  for (const line of all('.line')) line.classList.toggle('marked', webhook ? line.dataset.webhook === webhook : resource !== undefined && line.dataset.resource === resource);
}
const focusable = 'a, button, summary, input, [tabindex]';
// Replaces a part, and returns a function that restores the focus: a link by its address, others by their place.
function replace(to, from) {
  const place = all(focusable, to).indexOf(document.activeElement);
  const href = document.activeElement?.getAttribute('href');
  const open = all('details', to).map(e => e.open);
  const scrolled = all('.scroll', to).map(e => [e.scrollLeft, e.scrollTop]);
  to.replaceWith(from);
  all('details', from).forEach((e, i) => { e.open = open[i]; });
  all('.scroll', from).forEach((e, i) => { [e.scrollLeft, e.scrollTop] = scrolled[i] || [0, 0]; });
  const elements = all(focusable, from);
  const next = href ? elements.find(e => e.getAttribute('href') === href) : elements[place];
  return () => { if (place >= 0) next?.focus({ preventScroll: true }); };
}
// Replaces the parts that differ in the content that the server has now. The other parts keep the focus and the position.
async function refresh() {
  const response = await fetch(location.href, { cache: 'no-store' });
  const text = await response.text();
  if (!response.ok) {
    announce('connection', 'This view does not change any more: ' + text);
    return;
  }
  const next = new DOMParser().parseFromString(text, 'text/html');
  const restore = [];
  for (const from of all('[data-part]', next)) {
    const to = document.querySelector(`[data-part="${from.dataset.part}"]`);
    if (!to || to.dataset.digest === from.dataset.digest) continue;
    restore.push(replace(to, from));
  }
  if (restore.length) filter();
  restore.forEach(f => f());
  document.body.dataset.number = next.body.dataset.number;
  announce('connection', 'Live.');
}
let source, timer, refreshing = false, outdated = false;
// Changes that arrive during a refresh lead to one more.
async function update() {
  outdated = true;
  if (refreshing) return;
  refreshing = true;
  while (outdated) {
    outdated = false;
    try {
      await refresh();
    } catch (error) {
      announce('connection', 'This view could not be loaded again: ' + error);
    }
  }
  refreshing = false;
}
const paused = () => document.getElementById('pause').getAttribute('aria-pressed') === 'true';
// A hidden view is not connected: browsers open six connections to one server.
function connect() {
  clearTimeout(timer);
  if (document.hidden || paused()) {
    source?.close();
    source = undefined;
    if (paused()) announce('connection', 'Paused.');
    return;
  }
  if (source) return;
  source = new EventSource('events?number=' + document.body.dataset.number);
  source.addEventListener('open', () => announce('connection', 'Live.'));
  source.addEventListener('change', update);
  source.addEventListener('error', () => {
    announce('connection', 'Not connected. If the command ended, run it again, and open the new address.');
    if (source?.readyState !== EventSource.CLOSED) return;
    source = undefined;
    timer = setTimeout(connect, 5000);
  });
}
document.addEventListener('input', filter);
document.addEventListener('pointerover', mark);
document.addEventListener('click', event => {
  const text = event.target.closest?.('[data-filter]')?.dataset.filter;
  if (text === undefined) return;
  const input = document.getElementById('filter');
  input.value = input.value === text ? '' : text;
  filter();
});
if ('live' in document.body.dataset) {
  document.getElementById('pause').addEventListener('click', event => {
    event.target.setAttribute('aria-pressed', !paused());
    connect();
  });
  document.addEventListener('visibilitychange', connect);
  connect();
}
