package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/views"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/status"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/ui"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// cluster has webhooks of several servers, a tenth of which have no endpoint, and a ClusterServiceVersion for half of
// them.
type cluster struct{ page.Facts }

func (c cluster) Read(context.Context) (page.Facts, error) { return c.Facts, nil }

func (c cluster) Dial(context.Context, []doctor.Webhook) (map[string][]doctor.Answer, error) {
	return nil, errors.New("this cluster has no pods")
}

func (c cluster) Latencies(context.Context) (page.Latencies, error) {
	return nil, errors.New("this cluster has no metrics")
}

func clusterOf(webhooks int) cluster {
	facts := page.Facts{Server: "https://192.0.2.1:6443", Facts: status.Facts{Facts: doctor.Facts{Services: map[types.NamespacedName]doctor.Service{}}}}
	hour := func(n int) *metav1.Time { return &metav1.Time{Time: time.Now().Add(time.Duration(n) * time.Hour)} }
	for i := range webhooks {
		namespace, name := fmt.Sprintf("team-%d", i%50), fmt.Sprintf("v%04d.team-%d.example.com", i, i%50)
		service := types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("hook-%d", i)}
		facts.Services[service] = doctor.Service{By: route.ByClusterIP, Ports: map[int32]int{443: min(1, i%10)}, Ready: min(1, i%10)}
		w := doctor.Webhook{
			Kind: doctor.Validating, Object: fmt.Sprintf("v-%d", i), Name: name, Service: service, Port: 443, Fails: i%3 > 0,
			Rules: []admissionregistrationv1.RuleWithOperations{
				installtest.RuleOf([]string{namespace + ".example.com"}, []string{"orders", "invoices"}), installtest.RuleOf([]string{""}, []string{"configmaps"}),
			},
		}
		facts.Webhooks = append(facts.Webhooks, w)
		if i%2 == 0 {
			continue
		}
		meta := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("operator-%d.v1", i)}
		facts.CSVs = append(facts.CSVs, operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: meta, Status: operatorsv1alpha1.ClusterServiceVersionStatus{Phase: operatorsv1alpha1.CSVPhaseSucceeded, LastTransitionTime: hour(-1)}})
		facts.Events = append(facts.Events, corev1.Event{InvolvedObject: corev1.ObjectReference{Namespace: namespace, Name: meta.Name}, Type: corev1.EventTypeWarning, Reason: "WebhookUnreachable", Message: "no endpoint answers", LastTimestamp: *hour(-1)})
		facts.Rollouts = append(facts.Rollouts, managerv1alpha1.WebhookRollout{ObjectMeta: meta, Status: managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{
			Name: "server", State: managerv1alpha1.DeploymentProgressing, Message: "pod server-0 does not start",
			Certificate: &managerv1alpha1.CertificateStatus{Provider: "manager", Phase: managerv1alpha1.CertificateStable, NotBefore: hour(-24), NotAfter: hour(24 * 60), RenewalTime: hour(24 * 30)},
			Webhooks:    []managerv1alpha1.WebhookStatus{{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: name, Configuration: w.Object, State: managerv1alpha1.WebhookRegistered, LastTransitionTime: hour(-1)}},
		}}}})
	}
	return cluster{facts}
}

func serve(t testing.TB, r ui.Reader) (address string) {
	t.Helper()
	_, server, address := start(t, r)
	t.Cleanup(server.Close)
	return address
}

func start(t testing.TB, r ui.Reader) (*ui.Handler, *httptest.Server, string) {
	t.Helper()
	handler := ui.NewHandler(t.Context(), r)
	server := httptest.NewServer(handler)
	return handler, server, server.URL + handler.Path()
}

// The browser gives the content to no page of another origin. What the server answers them is in pkg/cli/ui.
func TestOtherOrigins(t *testing.T) {
	address := serve(t, clusterOf(3))
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") }))
	t.Cleanup(other.Close)
	tab := New(t)
	tab.Open(other.URL)
	for name, expression := range map[string]string{
		"fetch":       `fetch("%smap").then(r => r.text(), e => "refused")`,
		"EventSource": `new Promise(done => { const s = new EventSource("%sevents"); s.onopen = () => done("open"); s.onerror = () => done("refused"); })`,
	} {
		installtest.Same(t, name, "refused", Value[string](tab, fmt.Sprintf(expression, address)))
	}
	tab.Open(address)
	installtest.Same(t, "a view reads its own server", true, Value[bool](tab, `fetch("map").then(r => r.text()).then(text => text.includes("192.0.2.1"))`))
}

// The document refers to nothing else, also if it is opened as a file.
func TestDocument(t *testing.T) {
	tab := New(t)
	tab.Open("file://" + documentOf(t, clusterOf(3).Facts))
	installtest.Same(t, "files that it loads", 0, Value[int](tab, `performance.getEntriesByType("resource").length`))
	tab.Click("#webhooks a")
	installtest.Same(t, "the link leads to the webhook", true, Value[bool](tab, `document.getElementById(location.hash.slice(1)).textContent.includes("v0001.team-1")`))
}

// documentOf returns the file with all views.
func documentOf(t testing.TB, f page.Facts) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "webhooks.html")
	installtest.Must(t, os.WriteFile(file, []byte(installtest.OrPanic(views.Document(page.New(f, page.History{}, time.Now())))), 0o600))
	return file
}

// Everything can be reached with the keyboard, and is described for screen readers.
func TestAccess(t *testing.T) {
	tab := New(t)
	c := clusterOf(20)
	for _, r := range c.Rollouts {
		certificate := r.Status.Deployments[0].Certificate
		certificate.Phase, certificate.LastUpdateTime = managerv1alpha1.CertificatePromoting, certificate.NotBefore
		certificate.RenewalTime, certificate.NotAfter = nil, &metav1.Time{Time: time.Now().Add(-time.Hour)}
	}
	address := serve(t, c)
	shown := page.New(c.Facts, page.History{}, time.Now()).Webhooks
	declared, undeclared := views.Webhook+"?id="+shown[0].ID, views.Webhook+"?id="+shown[len(shown)-1].ID
	for view, rows := range map[string][]string{declared: {"rollout expired", "certificates expired", "rotation Promoting"}, undeclared: {}} {
		tab.Open(address + view)
		installtest.Same(t, view+": rows", rows, Value[[]string](tab, `["rollout expired", "certificates expired", "rotation Promoting"].filter(row => { const [part, state] = row.split(" "); return [...document.querySelectorAll("[data-part=" + part + "] td")].some(cell => cell.textContent === state); })`))
	}
	addresses := []string{views.Map, views.Findings, declared, undeclared}
	for _, view := range addresses {
		tab.Open(address + view)
		accessible(t, tab, view)
	}
	tab.Open("file://" + documentOf(t, c.Facts))
	accessible(t, tab, "the document")
	tab.Prefer("dark")
	for _, view := range addresses {
		tab.Open(address + view)
		installtest.Same(t, view+": dark texts with a contrast below 4.5", 0, Value[int](tab, contrast))
	}
	for _, scheme := range []string{"light", "dark"} {
		tab.Prefer(scheme)
		installtest.Same(t, scheme+" bars whose text has a contrast below 4.5", []string{}, Value[[]string](tab, barContrast))
	}

	tab.Open(address + views.Map)
	tab.Press("\t")
	installtest.Same(t, "first", "Skip to the content", Value[string](tab, `document.activeElement.textContent`))
	tab.Press("\r")
	installtest.Same(t, "the content has the focus", "main", Value[string](tab, `document.activeElement.id`))
	tab.Type("#filter", "v0003.")
	installtest.Same(t, "rows", 1, Value[int](tab, `[...document.querySelectorAll("#webhooks tbody tr")].filter(r => !r.hidden).length`))
	installtest.Same(t, "drawn webhooks", 1, Value[int](tab, `document.querySelectorAll("svg.map a:not(.filtered)").length`))
	installtest.Same(t, "drawn resources", 3, Value[int](tab, `document.querySelectorAll("svg.map text[data-resource]:not(.filtered)").length`))
	installtest.Same(t, "size of the map", "0 0 1000 80", Value[string](tab, `document.querySelector("svg.map").getAttribute("viewBox")`))
	installtest.Same(t, "the number is announced", "1 of 20", Value[string](tab, `document.getElementById("matches").textContent`))
	tab.Press("\t\t\r")
	tab.Wait(`document.querySelector("h1")?.textContent.startsWith("v0003.")`)
}

func accessible(t *testing.T, tab Tab, view string) {
	t.Helper()
	for what, count := range map[string]string{
		"language":                         `document.documentElement.lang === "en" ? 0 : 1`,
		"further titles than one":          `document.querySelectorAll("h1").length - 1`,
		"headings that skip a level":       `(() => { let last = 1, n = 0; for (const h of document.querySelectorAll("h1,h2,h3")) { const l = +h.tagName[1]; if (l > last + 1) n++; last = l; } return n; })()`,
		"inputs without a label":           `[...document.querySelectorAll("input")].filter(i => i.labels.length !== 1).length`,
		"header cells without a scope":     `document.querySelectorAll("th:not([scope])").length`,
		"drawings that are read aloud":     `document.querySelectorAll("svg:not([aria-hidden=true])").length`,
		"links of drawings in the order":   `document.querySelectorAll("svg a:not([tabindex='-1'])").length`,
		"ids that occur twice":             `(() => { const ids = [...document.querySelectorAll("[id]")].map(e => e.id); return ids.length - new Set(ids).size; })()`,
		"links without a text":             `[...document.querySelectorAll("a")].filter(a => !a.textContent.trim()).length`,
		"texts with a contrast below 4.5":  contrast,
		"drawings without a table":         `document.querySelectorAll("svg.chart").length - document.querySelectorAll(".scroll:has(> svg.chart) + details table").length`,
		"scrolled parts without a name":    `document.querySelectorAll(".scroll:not([role=region][aria-label][tabindex='0'])").length`,
		"scrolled parts with one name":     `(() => { const names = [...document.querySelectorAll("[role=region]")].map(e => e.ariaLabel); return names.length - new Set(names).size; })()`,
		"elements that are wider than all": `document.documentElement.scrollWidth > document.documentElement.clientWidth ? 1 : 0`,
	} {
		installtest.Same(t, view+": "+what, 0, Value[int](tab, count))
	}
}

// ratio is the contrast of two colors, by the formula of WCAG 2.
const ratio = `
	const luminance = color => {
		const [r, g, b] = color.match(/[\d.]+/g).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const ratio = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
`

// barContrast has the colors of bars that are too close to the color of their text.
const barContrast = `(() => {` + ratio + `
	const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
	document.body.append(svg);
	const draw = (name, kind) => { const e = document.createElementNS("http://www.w3.org/2000/svg", name); e.setAttribute("class", kind); svg.append(e); return getComputedStyle(e).fill; };
	const text = draw("text", "inside");
	const low = ["good", "wait", "next", "bad", "idle", "unknown", "s0", "s1", "s2", "s3", "mixed"].filter(color => !(ratio(text, draw("rect", "bar " + color)) >= 4.5));
	svg.remove();
	return low;
})()`

// contrast counts the texts whose color is too close to that of the background. A text in a bar is checked with
// barContrast.
const contrast = `(() => {` + ratio + `
	const background = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== "rgba(0, 0, 0, 0)") return c; } return "rgb(255, 255, 255)"; };
	return [...document.querySelectorAll("body *")].filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && !e.closest("script, title, .inside")).filter(e => {
		const style = getComputedStyle(e);
		return ratio(e instanceof SVGElement ? style.fill : style.color, background(e)) < 4.5;
	}).length;
})()`

// mostDrawn is how long the page of a thousand webhooks may take.
const mostDrawn = 1000.0

// drawn waits until the browser has drawn the page, and returns how many milliseconds after the request that was. The
// next frame but one is drawn after the first paint.
func drawn(tab Tab) float64 {
	return Value[float64](tab, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))`)
}

// BenchmarkPage reports how long the browser needs to draw a page, from the request to the end of the load event.
func BenchmarkPage(b *testing.B) {
	for _, webhooks := range []int{100, 1000} {
		b.Run(fmt.Sprintf("webhooks=%d", webhooks), func(b *testing.B) {
			address := serve(b, clusterOf(webhooks))
			tab := New(b)
			tab.Open(address + views.Findings) // The browser has started.
			var total, served float64
			for b.Loop() {
				tab.Open(address + views.Map)
				total += drawn(tab)
				served += Value[float64](tab, `performance.getEntriesByType("navigation")[0].responseEnd`)
			}
			b.ReportMetric(total/float64(b.N), "drawn-ms/op")
			b.ReportMetric(served/float64(b.N), "served-ms/op")
			b.ReportMetric(0, "ns/op")
			if total/float64(b.N) >= mostDrawn {
				b.Errorf("the page is drawn after %.0f ms, want less than %.0f ms", total/float64(b.N), mostDrawn)
			}
		})
	}
}

// BenchmarkDocument reports how long the browser needs to draw the file of doctor -o html.
func BenchmarkDocument(b *testing.B) {
	for _, webhooks := range []int{100, 1000} {
		b.Run(fmt.Sprintf("webhooks=%d", webhooks), func(b *testing.B) {
			file := documentOf(b, clusterOf(webhooks).Facts)
			tab := New(b)
			tab.Open("about:blank") // The browser has started.
			var total float64
			for b.Loop() {
				tab.Open("file://" + file)
				total += drawn(tab)
			}
			b.ReportMetric(total/float64(b.N), "drawn-ms/op")
			b.ReportMetric(0, "ns/op")
		})
	}
}
