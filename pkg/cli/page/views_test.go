package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/views"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// viewsOf returns each view by its name.
func viewsOf(t *testing.T, p page.Page) map[string]string {
	t.Helper()
	return map[string]string{
		"map": installtest.OrPanic(views.Render(p, views.Map, page.Webhook{})), "findings": installtest.OrPanic(views.Render(p, views.Findings, page.Webhook{})),
		"webhook": installtest.OrPanic(views.Render(p, views.Webhook, p.Webhooks[0])), "document": installtest.OrPanic(views.Document(p)),
	}
}

// PAGES=folder writes the views there, to look at.
func TestViews(t *testing.T) {
	for name, view := range viewsOf(t, page.New(page.Shop(t), page.History{}, page.Now)) {
		if folder := os.Getenv("PAGES"); folder != "" {
			installtest.Must(t, os.WriteFile(filepath.Join(folder, name+".html"), []byte(view), 0o600))
		}
		for _, forbidden := range []string{"secret-in-a-url", "ZgotmplZ", "<no value>", "style=", "onclick", "http-equiv=\"refresh\""} {
			if strings.Contains(view, forbidden) {
				t.Errorf("view %s contains %q", name, forbidden)
			}
		}
	}
	document := installtest.OrPanic(views.Document(page.New(page.Shop(t), page.History{}, page.Now)))
	for _, elsewhere := range []string{"src=", "@import", "url(", "href=\"http"} {
		if strings.Contains(document, elsewhere) {
			t.Errorf("the document refers to another file: it contains %q", elsewhere)
		}
	}
	installtest.Contains(t, document, "gone.example.com", "WebhookUnreachable", "pod worker-0 does not start", "Service gone/hook does not exist", `<li class="in-progress warned"><strong>Deployment worker</strong>`)
}

// Names of the cluster are shown as text, and cannot reorder it.
func TestHostileNames(t *testing.T) {
	f := page.Shop(t)
	f.Webhooks = append(f.Webhooks, doctor.Webhook{Kind: doctor.Validating, Object: "<script>alert(1)</script>", Name: "\u202e\"><script>alert(2)</script>", Fails: true})
	for name, view := range viewsOf(t, page.New(f, page.History{}, page.Now)) {
		if strings.Contains(view, "<script>alert") || strings.Contains(view, "\u202e") {
			t.Errorf("view %s contains the name as it is", name)
		}
	}
}
