// Package views renders the page as HTML. It is pure. Only the plugin of kubectl may import it: a program with
// templates keeps every method of every type, and the manager would need half as much memory again (hack/build.sh).
package views

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"html/template"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
)

//go:embed assets
var assets embed.FS

var (
	style  = asset("style.css")
	script = asset("script.js")
	// pages has a document for each view, document one with all views.
	pages    = parse(template.FuncMap{"link": pageLink, "view": func(name string) string { return name }, "live": func() bool { return true }})
	document = parse(template.FuncMap{"link": func(id string) string { return "#" + id }, "view": func(name string) string { return "#" + name }, "live": func() bool { return false }})
)

func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // It is part of the program.
	}
	return string(text)
}

func parse(links template.FuncMap) *template.Template {
	templates := template.New("")
	funcs := template.FuncMap{
		"style":   func() template.CSS { return template.CSS(style) }, //nolint:gosec // It is part of the program.
		"script":  func() template.JS { return template.JS(script) },  //nolint:gosec // It is part of the program.
		"policy":  ContentSecurityPolicy,
		"section": func(name string, c content) (template.HTML, error) { return section(templates, name, c) },
		"part":    func(name string, c content) (template.HTML, error) { return part(templates, name, c) },
		"utc":     func(at time.Time) string { return at.UTC().Format(time.RFC3339) },
		"clock":   func(at time.Time) string { return at.UTC().Format(time.DateTime + " UTC") },
		"date":    func(at time.Time) string { return at.UTC().Format(time.DateOnly) },
		"until":   until,
		"titled":  func(title, of string, c chart.Chart) titled { return titled{c, title + " of " + of} },
		"upper":   strings.ToUpper,
	}
	return template.Must(templates.Funcs(funcs).Funcs(links).ParseFS(assets, "assets/*.html"))
}

// titled is the argument of the template of a chart.
type titled struct {
	chart.Chart

	Title string
}

// part renders a template as an element that the script replaces when its digest changes.
func part(templates *template.Template, name string, c content) (template.HTML, error) {
	var html strings.Builder
	if err := templates.ExecuteTemplate(&html, name+".html", c); err != nil {
		return "", err
	}
	digest := fnv.New64a()
	_, _ = digest.Write([]byte(contentOf(name, c, html.String())))
	return template.HTML(fmt.Sprintf("<div data-part=%q data-digest=\"%x\">%s</div>", name, digest.Sum64(), html.String())), nil //nolint:gosec // A template has encoded it.
}

var lowerHeadings = strings.NewReplacer("<h1", "<h2", "</h1>", "</h2>", "<h2", "<h3", "</h2>", "</h3>", "<h3", "<h4", "</h3>", "</h4>")

// section renders a view as a section of a document, which has a heading of its own.
func section(templates *template.Template, name string, c content) (template.HTML, error) {
	var html strings.Builder
	if err := templates.ExecuteTemplate(&html, name+".html", c); err != nil {
		return "", err
	}
	return template.HTML(lowerHeadings.Replace(html.String())), nil //nolint:gosec // A template has encoded it.
}

// contentOf is what makes a part another one. A drawing is the same if only the time has passed.
func contentOf(name string, c content, html string) string {
	charts := map[string]chart.Chart{"rollout": c.Webhook.Rollout, "certificates": c.Webhook.Certificates, "rotation": c.Webhook.Rotation}
	if drawn, is := charts[name]; is {
		return fmt.Sprint(drawn.WithoutTime(), len(c.Webhook.Stages) > 0)
	}
	return html
}

// until is the time between now and the expiry of a certificate.
func until(at, now time.Time) string {
	if at.After(now) {
		return "in " + duration.HumanDuration(at.Sub(now))
	}
	return "expired"
}

func pageLink(id string) string { return Webhook + "?id=" + id }

// ContentSecurityPolicy allows the style and the script of the page, and requests to the server that it comes from.
func ContentSecurityPolicy() string {
	return "default-src 'none'; style-src " + hashOf(style) + "; script-src " + hashOf(script) + "; connect-src 'self'; base-uri 'none'; form-action 'none'"
}

func hashOf(text string) string {
	digest := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

// The views, by the last part of their address.
const (
	Map      = "map"
	Findings = "findings"
	Webhook  = "webhook"
)

// content is the argument of the templates.
type content struct {
	page.Page

	View    string
	Title   string
	Webhook page.Webhook // of the view Webhook
}

// Render returns a view. The webhook is that of the view Webhook.
func Render(p page.Page, view string, w page.Webhook) (string, error) {
	titles := map[string]string{Map: "Webhooks", Findings: "Findings", Webhook: w.Name}
	return render(pages, content{Page: p, View: view, Title: titles[view], Webhook: w})
}

// Document returns all views as one file, which needs nothing else.
func Document(p page.Page) (string, error) {
	return render(document, content{Page: p, View: "document", Title: "Webhooks of " + p.Server})
}

// maxAbout is how many registrations of one finding are named.
const maxAbout = 20

// finding is the argument of the template of a finding.
type finding struct {
	doctor.Finding

	Shown []page.Reference
	// Hidden is how many other registrations it is about.
	Hidden int
}

// About returns the content for the template of one finding.
func (c content) About(of doctor.Finding) finding {
	shown := of.Webhooks[:min(len(of.Webhooks), maxAbout)]
	return finding{of, lists.Map(shown, c.Reference), len(of.Webhooks) - len(shown)}
}

// With returns the content for a template of one webhook.
func (c content) With(w page.Webhook) content {
	c.Webhook = w
	return c
}

func render(templates *template.Template, c content) (string, error) {
	var html strings.Builder
	if err := templates.ExecuteTemplate(&html, "layout.html", c); err != nil {
		return "", err
	}
	return output.EncodeHTML(html.String()), nil
}
