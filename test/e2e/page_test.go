package e2e

import (
	"encoding/base64"
	"flag"
	"html"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/browser"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var screenshots = flag.String("screenshots", "", "folder for a screenshot of each view of the page")

// takeScreenshot shows elements with light and with dark colors.
func takeScreenshot(tab browser.Tab, selector, name string) {
	tab.Helper()
	if *screenshots == "" {
		return
	}
	for scheme, suffix := range map[string]string{"dark": "-dark", "light": ""} {
		tab.Prefer(scheme)
		tab.Screenshot(selector, filepath.Join(*screenshots, name+suffix+".png"))
	}
}

// Chromium shows what kubectl webhooks ui serves of the cluster, and what changes while the page is open.
func TestPage(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	leaveBehind(e, e.namespace)
	term := &terminal{env: e}
	command := term.start("ui")
	command.says("/ in a browser of this machine")
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+/`).FindString(command.output())
	p := shownPage{browser.New(t), e, address}
	p.Open(address)
	p.createsOperators()
	p.showsRollouts()
	p.showsRotation(term)
	p.showsMap()
	p.showsFindings()

	_, exit := command.interrupt()
	installtest.Same(t, "exit code after Ctrl+C", 0, exit)
	p.Wait(`document.getElementById("connection").innerText.startsWith("Not connected")`)
}

// shownPage is the page in a browser.
type shownPage struct {
	browser.Tab

	env     *env
	address string
}

// createsOperators creates one whose webhooks serve, and one whose pods present a certificate of another CA. The webhook
// that is called has a name of its own: API servers count calls by name, and those of other tests fail.
func (p shownPage) createsOperators() {
	p.Helper()
	sound := hookCSV("hook.v1", draining(server("hook", "--drain")))
	sound.Spec.WebhookDefinitions[0].GenerateName = "configmaps.page.example.com"
	jobs := sound.Spec.WebhookDefinitions[0]
	ignore := admissionregistrationv1.Ignore
	jobs.GenerateName, jobs.Type, jobs.FailurePolicy = "jobs.hook.example.com", operatorsv1alpha1.MutatingAdmissionWebhook, &ignore
	jobs.Rules = []admissionregistrationv1.RuleWithOperations{installtest.RuleOf([]string{"batch"}, []string{"jobs", "cronjobs"})}
	sound.Spec.WebhookDefinitions = append(sound.Spec.WebhookDefinitions, jobs)
	p.env.create(sound)
	foreign := hookCSV("stock.v1", server("stock", "--foreign"))
	foreign.Spec.WebhookDefinitions[0].GenerateName = "items.stock.example.com"
	p.env.create(foreign)
	p.env.succeeds("hook.v1")
	for range 20 {
		installtest.Same(p, "outcome", calls.Denied, p.env.call(p.env.ctx, true).Outcome)
	}
}

// rows are the webhooks of the namespace, and the one that another client left behind.
func (p shownPage) rows() string {
	return `[...document.querySelectorAll("#webhooks tbody tr")].filter(r => r.innerText.includes("` + p.env.namespace + `/") || r.innerText.includes("left.behind"))`
}

// opens follows the link of a webhook.
func (p shownPage) opens(webhook string) {
	p.Helper()
	p.Open(p.address)
	link := p.rows() + `.map(r => r.querySelector("a")).find(a => a.innerText === "` + webhook + `")`
	p.Wait(link + ` !== undefined`)
	browser.Value[bool](p.Tab, link+`.click() === undefined`)
	p.Wait(`document.querySelector("h1")?.innerText === "` + webhook + `"`)
}

// showsRollouts: of the webhook that serves, every time is recorded except that of the probe. The command observes the
// other one while it is probed.
func (p shownPage) showsRollouts() {
	p.Helper()
	p.opens("items.stock.example.com")
	p.Wait(`/probe and test review.*ForeignCertificate/.test(document.querySelector("[data-part=rollout] tbody").textContent)`)
	p.Wait(`document.querySelector("[data-part=stages]").innerText.includes("serve the certificate mounted into its container")`)
	takeScreenshot(p.Tab, "body", "waiting")

	p.opens("configmaps.page.example.com")
	p.Wait(`document.querySelector(".health").innerText.includes("healthy")`)
	installtest.Same(p, "stages that are not done", 0, browser.Value[int](p.Tab, `document.querySelectorAll(".stages li:not(.done)").length`))
	for _, text := range []string{p.env.namespace + "/hook.v1", "WebhookRegistered"} {
		p.Wait(`document.body.innerText.includes("` + text + `")`)
	}
	installtest.Same(p, "rows of the rollout", []string{"ClusterServiceVersion", "Deployment hook", "certificate", "probe and test review", "registration", "events"},
		browser.Value[[]string](p.Tab, `[...new Set([...document.querySelectorAll("[data-part=rollout] tbody th")].map(h => h.textContent))]`))
	installtest.Same(p, "rows without a time, except for a probe in the second of the registration", 0,
		browser.Value[int](p.Tab, `[...document.querySelectorAll("[data-part=rollout] tbody tr")].filter(r => !r.cells[2].textContent && r.textContent !== "probe and test reviewnot recorded").length`))
	takeScreenshot(p.Tab, "body", "webhook")
}

// showsRotation: the page observes each phase, what registrations trust, and what each pod serves.
func (p shownPage) showsRotation(term *terminal) {
	p.Helper()
	missAnAPIServer(p.env) // otherwise phases may be shorter than the interval in which the page reads
	term.works("", "certificates", "rotate", "hook.v1", "-n", p.env.namespace)
	p.Wait(`document.body.innerText.includes("Rotation of the certificate")`)
	for range 20 {
		installtest.Same(p, "outcome", calls.Denied, p.env.call(p.env.ctx, true).Outcome)
	}
	p.env.rotates("hook.v1", 2)
	table := `document.querySelector("[data-part=rotation] tbody")`
	p.Wait(`/phaseStable.*phaseDistributing.*phase(Promoting|Retiring).*phaseStable/s.test(` + table + `.textContent)`)
	for _, row := range []string{`/^pod hook-.*2 \(/`, `/^calls of the webhook\d+, 0 failed/`} {
		p.Wait(`[...` + table + `.rows].some(r => ` + row + `.test(r.textContent))`)
	}
	takeScreenshot(p.Tab, "[data-part=rotation]", "rotation")
}

func (p shownPage) showsMap() {
	p.Helper()
	p.Open(p.address)
	p.Wait(p.rows() + `.filter(r => r.innerText.includes("✓ healthy")).length === 2`)
	p.Wait(p.rows() + `.some(r => /\d+ calls, \d+ rejected, 0 failed/.test(r.innerText))`)
	installtest.Same(p, "webhooks", []string{"configmaps.page.example.com", "items.stock.example.com", "jobs.hook.example.com", "left.behind.example.com"},
		browser.Value[[]string](p.Tab, p.rows()+`.map(r => r.querySelector("a").innerText).sort()`))
	takeScreenshot(p.Tab, "body", "map")
}

func (p shownPage) showsFindings() {
	p.Helper()
	p.Open(p.address + "findings")
	p.Wait(`document.body.innerText.includes("ready endpoints were dialled from inside their pods")`)
	p.Wait(`[...document.querySelectorAll(".finding a")].some(a => a.innerText === "ValidatingWebhookConfiguration ` + p.env.namespace + `: webhook left.behind.example.com")`)
	takeScreenshot(p.Tab, "body", "findings")
}

// The page contains no data of Secrets.
func TestPageShowsNoSecrets(t *testing.T) {
	t.Parallel()
	e := newHookEnv(t)
	said, _ := (&terminal{env: e}).webhooks("", "doctor", "-o", "html")
	said = html.UnescapeString(said)
	installtest.Contains(t, said, e.namespace+"/hook.v1", "ValidatingWebhookConfiguration "+e.registration().Name)
	secrets := kube.List(e, kubeClient.CoreV1().Secrets(metav1.NamespaceAll), metav1.ListOptions{}).Items
	checked := 0
	for _, secret := range secrets {
		key := string(secret.Data[corev1.TLSPrivateKeyKey])
		for _, form := range []string{key, base64.StdEncoding.EncodeToString([]byte(key))} {
			if key != "" && strings.Contains(said, form) {
				t.Errorf("the document contains the key of Secret %s/%s", secret.Namespace, secret.Name)
			}
			checked += len(key)
		}
	}
	if checked == 0 || strings.Contains(said, "PRIVATE KEY") {
		t.Errorf("%d bytes of keys were checked; the document contains PRIVATE KEY: %t", checked, strings.Contains(said, "PRIVATE KEY"))
	}
}
