'use strict';
// Shows only the rows and lines of the webhooks that contain the text of the filter.
function filter() {
  const input = document.getElementById('filter');
  if (!input) return;
  const text = input.value.toLowerCase();
  const rows = document.querySelectorAll('#webhooks tbody tr');
  let shown = 0;
  for (const row of rows) {
    row.hidden = !row.textContent.toLowerCase().includes(text);
    if (!row.hidden) shown++;
  }
  document.getElementById('matches').textContent = text ? shown + ' of ' + rows.length : '';
}
// Marks the lines of the webhook under the pointer.
function mark(event) {
  const id = event.target.closest ? event.target.closest('[data-webhook]')?.dataset.webhook : undefined;
  for (const line of document.querySelectorAll('.line')) line.classList.toggle('marked', id !== undefined && line.dataset.webhook === id);
}
// Replaces the content by that of the server, and keeps the filter, the focus and the position.
async function refresh() {
  const response = await fetch(location.href, { cache: 'no-store' });
  if (!response.ok) return;
  const next = new DOMParser().parseFromString(await response.text(), 'text/html');
  const text = document.getElementById('filter')?.value;
  const focused = document.activeElement?.id || document.activeElement?.getAttribute?.('href');
  document.querySelector('header').replaceWith(next.querySelector('header'));
  document.querySelector('main').replaceWith(next.querySelector('main'));
  const input = document.getElementById('filter');
  if (input && text) input.value = text;
  filter();
  if (focused) (document.getElementById(focused) || [...document.querySelectorAll('main a, nav a')].find(a => a.getAttribute('href') === focused))?.focus({ preventScroll: true });
}
document.addEventListener('input', filter);
document.addEventListener('pointerover', mark);
if ('live' in document.body.dataset) {
  const state = text => { document.getElementById('connection').textContent = text; };
  const source = new EventSource('events');
  let pending = Promise.resolve();
  source.addEventListener('change', () => { pending = pending.then(refresh).catch(() => {}); });
  source.addEventListener('open', () => state('Live.'));
  source.addEventListener('error', () => state('Not connected: what is shown does not change until the command runs again.'));
}
