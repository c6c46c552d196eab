package e2e

import (
	"encoding/base64"
	"flag"
	"html"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/browser"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var screenshots = flag.String("screenshots", "", "folder for a screenshot of each view of the page")

func takeScreenshot(tab browser.Tab, name string) {
	tab.Helper()
	if *screenshots != "" {
		tab.Screenshot(filepath.Join(*screenshots, name+".png"))
	}
}

// Chromium shows what kubectl webhooks ui serves of the cluster, and what changes while the page is open.
func TestPage(t *testing.T) {
	t.Parallel()
	e := newHookEnv(t)
	term := &terminal{env: e}
	command := term.start("ui")
	command.says("/ in a browser of this machine")
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+/`).FindString(command.output())
	tab := browser.New(t)

	tab.Open(address)
	tab.Type("#filter", e.namespace)
	tab.Wait(`[...document.querySelectorAll("#webhooks tbody tr:not([hidden])")].map(r => r.innerText).join().includes("✓ healthy")`)
	installtest.Same(t, "webhooks of the namespace", []string{"configmaps.hook.example.com"},
		browser.Value[[]string](tab, `[...document.querySelectorAll("#webhooks tbody tr:not([hidden]) th")].map(h => h.innerText)`))
	takeScreenshot(tab, "map")

	tab.Click("#webhooks tbody tr:not([hidden]) a")
	tab.Wait(`document.querySelector("h1")?.innerText === "configmaps.hook.example.com"`)
	installtest.Same(t, "stages that are not done", 0, browser.Value[int](tab, `document.querySelectorAll(".stages li:not(.done)").length`))
	for _, text := range []string{e.namespace + "/hook.v1", "serving certificate: valid from", "WebhookRegistered"} {
		tab.Wait(`document.body.innerText.includes("` + text + `")`)
	}
	takeScreenshot(tab, "webhook")

	term.works("", "certificates", "rotate", "hook.v1", "-n", e.namespace)
	tab.Wait(`document.body.innerText.includes("Rotation since the command began")`)
	e.rotates("hook.v1", 2)
	tab.Wait(`/phase: Stable from .*\n(.*\n)*phase: Stable from /.test(document.body.innerText)`)
	takeScreenshot(tab, "rotation")

	tab.Open(address + "findings")
	tab.Wait(`document.body.innerText.includes("ready endpoints were dialled from inside their pods")`)
	takeScreenshot(tab, "findings")

	_, exit := command.interrupt()
	installtest.Same(t, "exit code after Ctrl+C", 0, exit)
	tab.Wait(`document.getElementById("connection").innerText.startsWith("Not connected")`)
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
