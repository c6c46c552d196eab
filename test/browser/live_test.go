package browser

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/views"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/ui"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// changing is a cluster that a test changes.
type changing struct {
	cluster

	mutex sync.Mutex
}

func (c *changing) Read(context.Context) (page.Facts, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.Facts, nil
}

// change is shown by open views.
func (c *changing) change(t *testing.T, handler *ui.Handler, do func(*page.Facts)) {
	t.Helper()
	c.mutex.Lock()
	do(&c.Facts)
	c.mutex.Unlock()
	handler.Refresh(t.Context())
}

const live = `document.getElementById("connection").textContent === "Live."`

// firstOf is the address of the view of the first webhook.
func firstOf(c *changing) string {
	return views.Webhook + "?id=" + page.New(c.Facts, page.History{}, time.Now()).Webhooks[0].ID
}

// A change replaces only the parts of a view that differ. A reader does not lose the place.
func TestChangesKeepThePlace(t *testing.T) {
	c := &changing{cluster: clusterOf(100)}
	handler, server, address := start(t, c)
	t.Cleanup(server.Close)
	tab := New(t)

	tab.Open(address + views.Map)
	tab.Wait(live)
	tab.Type("#filter", "team-1")
	Value[bool](tab, `(() => { document.getElementById("table").scrollTop = 30; document.querySelector("#webhooks tr:not([hidden]) a").focus(); window.before = document.querySelector("#webhooks"); window.focused = document.activeElement.textContent; return true; })()`)
	c.change(t, handler, func(f *page.Facts) { f.CSVs[0].Status.Phase = "Failed" })
	tab.Wait(`document.body.dataset.number > 1`)
	installtest.Same(t, "the table, which does not differ, is the same", true, Value[bool](tab, `document.querySelector("#webhooks") === before`))
	c.change(t, handler, func(f *page.Facts) { f.Rollouts[0].Status.Deployments[0].Webhooks[0].State = "Unreachable" })
	tab.Wait(`document.querySelector(".counts").textContent.includes("✕ 7 failing")`)
	tab.Wait(`document.activeElement.textContent === focused`)
	installtest.Same(t, "the table differs", false, Value[bool](tab, `document.querySelector("#webhooks") === before`))
	installtest.Same(t, "position of the table", 30, Value[int](tab, `document.getElementById("table").scrollTop`))
	installtest.Same(t, "filtered rows", 22, Value[int](tab, `document.querySelectorAll("#webhooks tbody tr:not([hidden])").length`))
	installtest.Same(t, "filter", "team-1", Value[string](tab, `document.getElementById("filter").value`))

	tab.Open(address + firstOf(c))
	tab.Wait(live)
	tab.Click("[data-part=rollout] summary")
	Value[bool](tab, `(() => { window.before = document.querySelector("[data-part=certificates]"); return true; })()`)
	c.change(t, handler, func(f *page.Facts) { f.Events[0].Message = "another message" })
	tab.Wait(`document.querySelector("[data-part=rollout]").textContent.includes("another message")`)
	installtest.Same(t, "the table of the drawing is open", true, Value[bool](tab, `document.querySelector("[data-part=rollout] details").open`))
	installtest.Same(t, "the certificates, which do not differ, are the same", true, Value[bool](tab, `document.querySelector("[data-part=certificates]") === before`))
}

// What has the keyboard's focus keeps it when its part changes: a link, a button, a summary, a part that is scrolled.
func TestChangesKeepTheFocus(t *testing.T) {
	c := &changing{cluster: clusterOf(20)}
	handler, server, address := start(t, c)
	t.Cleanup(server.Close)
	tab := New(t)
	n := 0
	for _, test := range []struct {
		view, element string
		change        func(*page.Facts)
	}{
		{views.Map, "[data-part=counts] li:nth-child(2) button", func(f *page.Facts) { f.CSVs[1].Status.Phase = "Failed" }},
		{firstOf(c), "[data-part=rollout] summary", func(f *page.Facts) { f.Events[0].Message += " again" }},
		{firstOf(c), "[data-part=events] .scroll", func(f *page.Facts) { f.Events[0].Message += " again" }},
	} {
		tab.Open(address + test.view)
		tab.Wait(live)
		Value[bool](tab, fmt.Sprintf(`(() => { window.before = document.querySelector(%q); before.focus(); window.number = document.body.dataset.number; return true; })()`, test.element))
		c.change(t, handler, func(f *page.Facts) {
			f.Rollouts[n].Status.Deployments[0].Webhooks[0].State = "Unreachable"
			n++
			test.change(f)
		})
		tab.Wait(`document.body.dataset.number > number && !refreshing`)
		tab.Wait(fmt.Sprintf(`document.querySelector(%q) !== before`, test.element))
		installtest.Same(t, test.element+": the focus is kept", true, Value[bool](tab, fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, test.element)))
	}
}

// Many changes lead to few requests: a browser that is slow shows the last state, and not each.
func TestManyChanges(t *testing.T) {
	c := &changing{cluster: clusterOf(3)}
	handler, server, address := start(t, c)
	t.Cleanup(server.Close)
	tab := New(t)
	tab.Open(address + views.Map)
	tab.Wait(live)
	Value[bool](tab, `(() => { window.requests = window.events = 0; source.addEventListener("change", () => events++); const get = window.fetch; window.fetch = async (...a) => { requests++; const r = await get(...a); while (!window.answered) await new Promise(done => setTimeout(done, 10)); return r; }; return true; })()`)
	const changes = 10
	for i := range changes {
		c.change(t, handler, func(f *page.Facts) { f.Server = fmt.Sprintf("https://192.0.2.%d", i) })
		tab.Wait(fmt.Sprintf(`events === %d`, i+1))
	}
	Value[bool](tab, `window.answered = true`)
	tab.Wait(fmt.Sprintf(`document.body.textContent.includes("https://192.0.2.%d") && !refreshing`, changes-1))
	installtest.Same(t, "requests: one before the changes end, and one after", 2, Value[int](tab, `requests`))
}

// A paused view stays as it is, until the user continues it.
func TestPause(t *testing.T) {
	c := &changing{cluster: clusterOf(3)}
	handler, server, address := start(t, c)
	t.Cleanup(server.Close)
	tab := New(t)
	tab.Open(address + views.Map)
	tab.Wait(live)
	tab.Click("#pause")
	tab.Wait(`document.getElementById("connection").textContent === "Paused."`)
	installtest.Same(t, "state of the button", "true", Value[string](tab, `document.getElementById("pause").getAttribute("aria-pressed")`))
	installtest.Same(t, "the view is not connected", true, Value[bool](tab, `source === undefined`))
	c.mutex.Lock()
	c.Server = "https://192.0.2.9"
	c.mutex.Unlock()
	tab.Click("#pause")
	tab.Wait(live)
	handler.Refresh(t.Context())
	tab.Wait(`document.body.textContent.includes("https://192.0.2.9")`)
}

// After the connection was lost, the view connects again, and shows what has changed.
func TestReconnect(t *testing.T) {
	c := &changing{cluster: clusterOf(3)}
	handler, server, address := start(t, c)
	t.Cleanup(server.Close)
	tab := New(t)
	tab.Open(address + views.Map)
	tab.Wait(live)
	server.CloseClientConnections()
	tab.Wait(`document.getElementById("connection").textContent.startsWith("Not connected")`)
	c.mutex.Lock()
	c.Server = "https://192.0.2.9"
	c.mutex.Unlock()
	tab.Wait(live)
	handler.Refresh(t.Context())
	tab.Wait(`document.body.textContent.includes("https://192.0.2.9")`)
}

// Long and hostile names stay inside the page, also of a narrow one.
func TestLongNames(t *testing.T) {
	c := &changing{cluster: clusterOf(4)}
	long := strings.Repeat("a-name-that-does-not-end.", 10) + "<b>\u202e\u05d0\u05d1\u05d2"
	c.Webhooks[1].Name, c.Webhooks[0].Name, c.Webhooks[2].Object = long, long, long
	c.Webhooks[1].Rules[0].Resources, c.Webhooks[1].Rules[0].APIGroups = []string{long}, []string{long}
	rollout := &c.Rollouts[0].Status.Deployments[0]
	rollout.Name, rollout.Message, rollout.Webhooks[0].GenerateName = long, long, long
	rollout.Certificate.CAFingerprint, rollout.Certificate.Phase, rollout.Certificate.LastUpdateTime = long, "Promoting", &metav1.Time{Time: time.Now().Add(-time.Hour)}
	c.Events[0].Message, c.Events[0].Reason = long, long
	c.Server, c.EventsUnread = "https://"+long, long
	address := serve(t, c)
	tab := New(t)
	for _, width := range []int{1200, 400} {
		tab.Resize(int64(width), 900)
		for _, view := range []string{views.Map, views.Findings, firstOf(c)} {
			tab.Open(address + view)
			name := fmt.Sprintf("%s, %d wide: ", view, width)
			installtest.Same(t, name+"elements that are wider than the page", []string{}, Value[[]string](tab, `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll, .skip") && e.getBoundingClientRect().right > innerWidth).map(e => e.tagName + "." + e.className)`))
			installtest.Same(t, name+"texts that leave their drawing", []string{}, Value[[]string](tab, `[...document.querySelectorAll("svg text")].filter(e => { const b = e.getBBox(), v = e.ownerSVGElement.viewBox.baseVal; return b.x < -1 || b.x + b.width > v.width + 1 || b.y + b.height > v.height + 4; }).map(e => e.textContent)`))
			installtest.Same(t, name+"names of rows that cover the drawing", []string{}, Value[[]string](tab, `[...document.querySelectorAll("svg.chart text[x='2']")].filter(e => e.getBBox().width > 208).map(e => e.textContent)`))
			installtest.Same(t, name+"elements that names have made", 0, Value[int](tab, `document.querySelectorAll("b").length`))
		}
	}
}
