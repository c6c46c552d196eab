package names

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNamesThatOLMGivesStayVerbatim(t *testing.T) {
	for _, d := range []string{"manager", "a-b", "x", strings.Repeat("a", 55)} {
		if got, want := Service(d), d+"-service"; got != want {
			t.Errorf("Service(%q) = %q, want %q", d, got, want)
		}
		if got, want := Secret(Service(d)), d+"-service-cert"; got != want {
			t.Errorf("Secret(%q) = %q, want %q", d, got, want)
		}
	}
	if got := LabelValue("tempo-operator.v0.22.0"); got != "tempo-operator.v0.22.0" {
		t.Errorf("LabelValue changed a name that fits: %q", got)
	}
}

func TestEverySourceGetsAValidName(t *testing.T) {
	sources := []string{
		"a.b", "1st", "9.a", strings.Repeat("a", 56), strings.Repeat("a.", 100) + "b", strings.Repeat("9", 253),
		strings.Repeat("a", 51) + "-" + strings.Repeat("b", 60), strings.Repeat("a", 43) + "." + strings.Repeat("b", 60),
	}
	for _, s := range append(sources, "", "Manager", "a/b", "a_b") {
		if problems := validation.IsDNS1035Label(Service(s)); len(problems) > 0 {
			t.Errorf("Service(%q) = %q: %v", s, Service(s), problems)
		}
		if problems := validation.IsDNS1123Subdomain(Budget(s)); s != "" && len(problems) > 0 {
			t.Errorf("Budget(%q) = %q: %v", s, Budget(s), problems)
		}
		if problems := validation.IsDNS1123Subdomain(Secret(Service(s))); len(problems) > 0 {
			t.Errorf("Secret(%q) = %q: %v", s, Secret(Service(s)), problems)
		}
	}
	for _, s := range sources {
		if problems := validation.IsValidLabelValue(LabelValue(s)); len(problems) > 0 {
			t.Errorf("LabelValue(%q) = %q: %v", s, LabelValue(s), problems)
		}
	}
	for _, s := range append(sources, "v/100.Example.com", "V", "v example") {
		name := WebhookConfiguration(s, "namespace", "csv")
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			t.Errorf("WebhookConfiguration(%q) = %q: %v", s, name, problems)
		}
	}
}

func TestTwoSourcesNeverShareAName(t *testing.T) {
	long := strings.Repeat("a", 60)
	sources := []string{
		"a.b", "a-b", "a.b.c", "a-b.c", "a.b-c", "1a", "d-1a", "1.a", "d-1-a",
		long, long + "b", long + "c", long + ".b", long + "-b",
	}
	for name, derive := range map[string]func(string) string{
		"Service":              Service,
		"Budget":               Budget,
		"LabelValue":           LabelValue,
		"WebhookConfiguration": func(s string) string { return WebhookConfiguration(s, "ns", "csv") },
		"Permissions":          func(s string) string { return Permissions("ns", s, "account") },
		"AuthReaderIn":         func(s string) string { return AuthReaderIn("ns", s) },
		"AuthDelegatorIn":      func(s string) string { return AuthDelegatorIn("ns", s) },
	} {
		seen := map[string]string{}
		for _, s := range sources {
			if other, taken := seen[derive(s)]; taken {
				t.Errorf("%s(%q) and %s(%q) are both %q", name, s, name, other, derive(s))
			}
			seen[derive(s)] = s
		}
	}
}

func TestWebhookConfigurationTellsIdentitiesApart(t *testing.T) {
	a := WebhookConfiguration("v.example.com", "one", "csv", "ValidatingAdmissionWebhook")
	b := WebhookConfiguration("v.example.com", "two", "csv", "ValidatingAdmissionWebhook")
	if a == b {
		t.Errorf("webhooks of two namespaces share the name %q", a)
	}
	if !strings.HasPrefix(a, "v.example.com-") {
		t.Errorf("%q does not begin with its generateName", a)
	}
}

// Bindings of two namespaces, and those of the usual name, never share one.
func TestBindingsTellNamespacesApart(t *testing.T) {
	for name, derive := range map[string][3]string{
		"AuthReader":    {AuthReader("a-service"), AuthReaderIn("one", "a-service"), AuthReaderIn("two", "a-service")},
		"AuthDelegator": {AuthDelegator("a-service"), AuthDelegatorIn("one", "a-service"), AuthDelegatorIn("two", "a-service")},
	} {
		if derive[0] == derive[1] || derive[1] == derive[2] {
			t.Errorf("%s: %v", name, derive)
		}
	}
	long := strings.Repeat("n", 63)
	if name := AuthDelegatorIn(long, Service(strings.Repeat("d", 253))); len(name) > 253 || !strings.HasSuffix(name, "-system:auth-delegator") {
		t.Errorf("%q does not fit, or does not name its purpose", name)
	}
}
