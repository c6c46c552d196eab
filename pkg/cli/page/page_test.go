package page

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/status"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }

// caOf returns a caBundle of one CA.
func caOf(t testing.TB, serial int64, notBefore, notAfter time.Time) []byte {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: notBefore, NotAfter: notAfter, IsCA: true, BasicConstraintsValid: true}
	der := installtest.OrPanic(x509.CreateCertificate(nil, template, template, key.Public(), key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// digestOf is the fingerprint of the CA of a caBundle, as a status has it.
func digestOf(bundle []byte) string {
	block, _ := pem.Decode(bundle)
	return fmt.Sprintf("%x", sha256.Sum256(block.Bytes))
}

// shop has a webhook that serves, one that waits, a conversion, and registrations of another owner.
func shop(t testing.TB) Facts {
	t.Helper()
	service := types.NamespacedName{Namespace: "shop", Name: "manager-service"}
	ca := caOf(t, 1, now.Add(-30*24*time.Hour), now.Add(335*24*time.Hour))
	owner := types.NamespacedName{Namespace: "shop", Name: "shop.v1"}
	rule := func(group, resource string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{Operations: operations, Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}}}
	}
	return Facts{
		Server: "https://192.0.2.1:6443",
		Measurements: Measurements{
			DialledAt: now.Add(-time.Minute),
			Answers: map[string][]doctor.Answer{
				"ValidatingWebhookConfiguration v.shop.io-x: webhook v.shop.io": {{Endpoint: "pod manager-0", Asked: true, NotAfter: now.Add(60 * 24 * time.Hour)}},
				"CustomResourceDefinition orders.shop.io: conversion":           {{Endpoint: "pod manager-0", Asked: true, NotAfter: now.Add(60 * 24 * time.Hour)}},
			},
			Latencies: Latencies{{"v.shop.io", "validating"}: {Calls: 12, Mean: 3 * time.Millisecond, P99: 5 * time.Millisecond}},
		},
		Facts: status.Facts{
			CSVs: []operatorsv1alpha1.ClusterServiceVersion{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1", CreationTimestamp: *ago(time.Hour + 12*time.Second)},
				Status: operatorsv1alpha1.ClusterServiceVersionStatus{
					Phase: operatorsv1alpha1.CSVPhaseInstalling, LastTransitionTime: ago(time.Hour + 10*time.Second),
					Conditions: []operatorsv1alpha1.ClusterServiceVersionCondition{
						{Phase: operatorsv1alpha1.CSVPhasePending, Reason: "RequirementsUnknown", LastTransitionTime: ago(time.Hour + 12*time.Second)},
						{Phase: operatorsv1alpha1.CSVPhasePending, Reason: "RequirementsNotMet", LastTransitionTime: ago(time.Hour + 12*time.Second)},
						{Phase: operatorsv1alpha1.CSVPhaseInstalling, LastTransitionTime: ago(time.Hour + 10*time.Second)},
					},
				},
			}},
			Rollouts: []managerv1alpha1.WebhookRollout{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1"},
				Status: managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{
					Name: "manager", State: managerv1alpha1.DeploymentAvailable,
					Certificate: &managerv1alpha1.CertificateStatus{
						Provider: "manager", Phase: managerv1alpha1.CertificateStable, NotBefore: ago(30 * 24 * time.Hour), NotAfter: ago(-60 * 24 * time.Hour), RenewalTime: ago(-30 * 24 * time.Hour), LastUpdateTime: ago(time.Hour + 9*time.Second),
						Generation: 1, CAFingerprint: digestOf(ca),
					},
					Webhooks: []managerv1alpha1.WebhookStatus{
						{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.shop.io", Configuration: "v.shop.io-x", State: managerv1alpha1.WebhookRegistered, LastTransitionTime: ago(time.Hour)},
						{Type: operatorsv1alpha1.ConversionWebhook, GenerateName: "c.shop.io", CRDs: []string{"orders.shop.io"}, State: managerv1alpha1.WebhookRegistered, LastTransitionTime: ago(time.Hour)},
					},
				}, {
					Name: "worker", State: managerv1alpha1.DeploymentProgressing, Message: "pod worker-0 does not start: see kubectl -n shop describe pod worker-0",
					Webhooks: []managerv1alpha1.WebhookStatus{{Type: operatorsv1alpha1.MutatingAdmissionWebhook, GenerateName: "m.shop.io", State: managerv1alpha1.WebhookWaiting, Reason: "DeploymentNotAvailable", Message: "waiting for Deployment worker"}},
				}}},
			}},
			Facts: doctor.Facts{
				Webhooks: []doctor.Webhook{
					{Kind: doctor.Conversion, Object: "orders.shop.io", Service: service, Port: 443, CABundle: ca, Owner: owner, Fails: true, Versions: 2},
					{Kind: doctor.Mutating, Object: "sidecars", Name: "sidecars.mesh.io", URL: "https://mesh.example.com/inject?token=secret-in-a-url", Fails: false, Rules: []admissionregistrationv1.RuleWithOperations{rule("", "pods", "CREATE")}},
					{Kind: doctor.Validating, Object: "gone", Name: "gone.example.com", Service: types.NamespacedName{Namespace: "gone", Name: "hook"}, Port: 443, Fails: true, Rules: []admissionregistrationv1.RuleWithOperations{rule("", "configmaps", "CREATE", "UPDATE")}},
					{Kind: doctor.Validating, Object: "v.shop.io-x", Name: "v.shop.io", Written: now.Add(-time.Hour - time.Second), Service: service, Port: 443, CABundle: ca, Owner: owner, Fails: true, Rules: []admissionregistrationv1.RuleWithOperations{rule("shop.io", "orders", "CREATE", "UPDATE"), rule("", "configmaps", "DELETE")}},
				},
				Services: map[types.NamespacedName]doctor.Service{service: {By: route.ByClusterIP, Ports: map[int32]int{443: 1}, Ready: 1, Owner: owner}},
				Owners:   map[types.NamespacedName]bool{owner: true},
			},
		},
		Deployments: []appsv1.Deployment{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager", CreationTimestamp: *ago(time.Hour + 9*time.Second), Annotations: map[string]string{revision: "1"}},
			Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastTransitionTime: *ago(time.Hour + 3*time.Second)},
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", LastUpdateTime: *ago(time.Hour + 3*time.Second)},
			}},
		}},
		Events: []corev1.Event{
			{InvolvedObject: corev1.ObjectReference{Namespace: "shop", Name: "shop.v1"}, Type: "Normal", Reason: "WebhookRegistered", Message: "webhook v.shop.io is registered and serves", LastTimestamp: *ago(time.Hour)},
			{InvolvedObject: corev1.ObjectReference{Namespace: "shop", Name: "other.v1"}, Reason: "Other"},
			{InvolvedObject: corev1.ObjectReference{Namespace: "shop", Name: "shop.v1"}, Type: "Warning", Reason: "WebhookUnreachable", Message: "no endpoint answers", EventTime: metav1.NewMicroTime(now.Add(-time.Minute)), Count: 3},
		},
	}
}

func TestWebhooks(t *testing.T) {
	p := New(shop(t), History{}, now)
	installtest.Same(t, "webhooks", []string{
		"✓ v.shop.io Validating of shop/shop.v1: Fail, orders.shop.io configmaps",
		"✓ c.shop.io Conversion of shop/shop.v1: Fail, orders.shop.io",
		"… m.shop.io Mutating of shop/shop.v1: ,",
		"? sidecars.mesh.io Mutating of : Ignore, pods",
		"✕ gone.example.com Validating of : Fail, configmaps",
	}, lists.Map(p.Webhooks, func(w Webhook) string {
		resources := lists.Map(w.Intercepted, func(in Intercepted) string { return in.Resource })
		return strings.TrimSpace(fmt.Sprintf("%s %s %s of %s: %s, %s", w.Health.Symbol(), w.Name, w.Type, w.Owner(), w.Policy, strings.Join(resources, " ")))
	}))
	ids := lists.Map(p.Webhooks, func(w Webhook) string { return w.ID })
	installtest.Same(t, "the number of different ids", len(ids), len(lists.Distinct(slices.Clone(ids))))
	installtest.Same(t, "healthy", 2, p.Count(Healthy))
	installtest.Same(t, "latency", "mean 3ms, 99\u00a0% within 5ms: 12 calls, 0 rejected, 0 failed", p.Webhooks[0].Latency.String()+": "+p.Webhooks[0].Latency.Counts())
}

// With a namespace, only the webhooks of its ClusterServiceVersions are shown, and what was found of them.
func TestWebhooksOfANamespace(t *testing.T) {
	f := shop(t)
	f.Namespace = "shop"
	f.Services = nil
	p := New(f, History{}, now)
	installtest.Same(t, "the number of webhooks", 3, len(p.Webhooks))
	installtest.Same(t, "findings", []string{"ServiceMissing", "ServiceMissing"}, lists.Map(p.Findings, func(f doctor.Finding) string { return f.Code }))
}

// The health is the worse of the state and the findings, and unknown where nothing could be read.
func TestHealth(t *testing.T) {
	validating := func(f *Facts) *managerv1alpha1.WebhookStatus { return &f.Rollouts[0].Status.Deployments[0].Webhooks[0] }
	for name, test := range map[string]struct {
		change func(*Facts)
		want   Health
	}{
		"registered, and serves":         {func(*Facts) {}, Healthy},
		"the user reads no registration": {func(f *Facts) { f.Webhooks, f.RegistrationsUnread, f.Namespace = nil, "forbidden", "shop" }, Unknown},
		"unreachable, unread": {func(f *Facts) {
			f.Webhooks, f.RegistrationsUnread, f.Namespace = nil, "forbidden", "shop"
			validating(f).State = managerv1alpha1.WebhookUnreachable
		}, Failing},
		"not dialled yet":                {func(f *Facts) { f.Measurements = Measurements{} }, Unknown},
		"another dial failed":            {func(f *Facts) { f.NotDialled = "no permission" }, Healthy},
		"an endpoint cannot be called":   {func(f *Facts) { f.Measurements.Answers[f.Webhooks[3].String()][0].Reason = "ForeignCertificate" }, Failing},
		"the Service does not exist":     {func(f *Facts) { f.Services = nil }, Failing},
		"the same, failurePolicy Ignore": {func(f *Facts) { f.Services, f.Webhooks[3].Fails = nil, false }, Warning},
		"its certificate is rotated": {func(f *Facts) {
			c := f.Rollouts[0].Status.Deployments[0].Certificate
			c.Phase, c.Message = managerv1alpha1.CertificateDistributing, "API servers are given time"
		}, Healthy},
		"another problem of its certificate": {func(f *Facts) {
			f.Rollouts[0].Status.Deployments[0].Certificate.Message = "the Secret belongs to another client"
		}, Warning},
		"disabled": {func(f *Facts) { validating(f).State = managerv1alpha1.WebhookDisabled }, NotRegistered},
		"deleted":  {func(f *Facts) { f.Webhooks = f.Webhooks[:3] }, NotRegistered},
	} {
		f := shop(t)
		test.change(&f)
		installtest.Same(t, name, test.want, New(f, History{}, now).Webhooks[0].Health)
	}
}

// While a declared conversion waits, another owner may convert its definition. Both are shown.
func TestConversionOfAnotherOwner(t *testing.T) {
	f := shop(t)
	f.Rollouts[0].Status.Deployments[0].Webhooks[1].State = managerv1alpha1.WebhookBlocked
	f.Webhooks[0].Service = types.NamespacedName{Namespace: "helm", Name: "converter"}
	p := New(f, History{}, now)
	installtest.Same(t, "of the ClusterServiceVersion", NotRegistered, p.Webhooks[1].Health)
	other := lists.First(p.Webhooks, func(w Webhook) bool { return w.Name == "orders.shop.io" })
	installtest.Same(t, "of the other owner", Failing, other.Health)
}

// Time alone is no change.
func TestSame(t *testing.T) {
	f := shop(t)
	h := History{}.Add(f, now)
	f.Rollouts[0].Status.Deployments[0].Certificate.Phase = managerv1alpha1.CertificateDistributing
	page := func(d time.Duration) Page {
		h = h.Add(f, now.Add(d))
		return New(f, h, now.Add(d))
	}
	page(time.Second)
	installtest.Same(t, "a minute later", true, page(2*time.Second).Same(page(time.Minute)))
	before := page(time.Minute)
	f.Rollouts[0].Status.Deployments[0].Certificate.Phase = managerv1alpha1.CertificatePromoting
	installtest.Same(t, "after a change of the phase", false, before.Same(page(time.Minute+time.Second)))
}

func TestStages(t *testing.T) {
	p := New(shop(t), History{}, now)
	stages := func(w Webhook) []string {
		return lists.Map(w.Stages, func(s Stage) string { return fmt.Sprintf("%s: %s (%s) %s", s.Name, s.State, s.Progress, s.Message) })
	}
	installtest.Same(t, "of a webhook that serves", []string{
		"ClusterServiceVersion: Installing (done) ", "Deployment manager: Available (done) ", "Certificate: Stable, of provider manager (done) ", "Test review and registration: Registered (done) ",
	}, stages(p.Webhooks[0]))
	installtest.Same(t, "of a webhook that waits", []string{
		"ClusterServiceVersion: Installing (done) ",
		"Deployment worker: Progressing (in progress) pod worker-0 does not start: see kubectl -n shop describe pod worker-0",
		"Certificate: none (not started) ",
		"Test review and registration: Waiting: DeploymentNotAvailable (not started) waiting for Deployment worker",
	}, stages(p.Webhooks[2]))
	installtest.Same(t, "events", []string{"WebhookUnreachable", "WebhookRegistered"}, lists.Map(p.Webhooks[0].Events, func(e Event) string { return e.Reason }))
}

// The difference of the clocks is measured in whole seconds, and must not vary with each reading.
func TestClock(t *testing.T) {
	of := func(d time.Duration) *time.Duration { return &d }
	for name, test := range map[string]struct {
		previous time.Duration
		measured *time.Duration
		want     time.Duration
	}{
		"not known":            {time.Minute, nil, time.Minute},
		"close":                {0, of(1900 * time.Millisecond), 0},
		"wrong":                {0, of(-time.Hour - 400*time.Millisecond), -time.Hour},
		"measured another way": {-time.Hour, of(-time.Hour - 1900*time.Millisecond), -time.Hour},
		"corrected":            {-time.Hour, of(time.Second), time.Second},
	} {
		installtest.Same(t, name, test.want, Clock(test.previous, test.measured))
	}
	f := shop(t)
	installtest.Same(t, "notes without a difference", 0, len(New(f, History{}, now).Notes))
	f.ClockAhead = of(-3 * time.Minute)
	installtest.Same(t, "notes", []string{"The clock of this machine is 3m ahead of that of the API server, whose time this page shows. Correct the clock: other commands use it."}, New(f, History{}, now).Notes)
}

// The path of a URL that a webhook calls can contain a token. Messages of API servers contain it.
func TestPathsAreRedacted(t *testing.T) {
	r := redactionOf([]doctor.Webhook{{URL: "https://mesh.example.com/token"}, {URL: "https://Root.example.com/"}, {URL: "https://user:password@other.example.com:8443/token"}, {}})
	for message, want := range map[string]string{
		"calls https://mesh.example.com/token2":                                                                           "calls https://mesh.example.com",
		`Post "https://mesh.example.com/token-2?timeout=10s": EOF`:                                                        `Post "https://mesh.example.com": EOF`,
		`Post "https://root.example.com/token?timeout=10s": EOF`:                                                          `Post "https://root.example.com": EOF`,
		"calls HTTPS://ROOT.example.com/token":                                                                            "calls https://ROOT.example.com",
		"calls https://mesh.example.com/%zz/token":                                                                        "calls an address that cannot be parsed",
		"calls https://other.example.com:8443/another-token":                                                              "calls https://other.example.com:8443",
		"calls https://mesh.example.com:8443/of-another-server, (twice)":                                                  "calls https://mesh.example.com:8443/of-another-server, (twice)",
		"calls https://mesh.example.com/token/longer twice":                                                               "calls https://mesh.example.com twice",
		`failed to call webhook: Post "https://unknown.example.com/secret?timeout=10s": dial tcp: timeout`:                `failed to call webhook: Post "https://unknown.example.com": dial tcp: timeout`,
		`failed to call webhook: Post "https://user:password@unknown.example.com:8443/secret": EOF`:                       `failed to call webhook: Post "https://unknown.example.com:8443": EOF`,
		`Post \"https://unknown.example.com/secret?timeout=10s\": EOF`:                                                    `Post \"https://unknown.example.com\": EOF`,
		`failed to call webhook: Post "https://hook.shop.svc:443/validate?timeout=10s": EOF`:                              `failed to call webhook: Post "https://hook.shop.svc:443/validate?timeout=10s": EOF`,
		`failed to call webhook: Post "https://hook.shop.svc.example.com/secret": EOF`:                                    `failed to call webhook: Post "https://hook.shop.svc.example.com": EOF`,
		"see https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers for other messages": "see https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers for other messages",
	} {
		installtest.Same(t, message, want, r.text(message))
	}
	f := shop(t)
	token := "https://mesh.example.com/inject?token=secret-in-a-url"
	f.Events[0].Message, f.Rollouts[0].Status.Deployments[1].Message = "event "+token, "deployment "+token
	f.Rollouts[0].Status.Deployments[1].Webhooks[0].Message = "webhook " + token
	f.Webhooks = append(f.Webhooks, doctor.Webhook{Kind: doctor.APIService, Object: "v1.shop.io", Available: metav1.ConditionFalse, Report: "report " + token})
	f.Rollouts[0].Status.Deployments[0].Certificate.Message = "certificate " + token
	text := fmt.Sprintf("%+v", New(f, History{}, now))
	installtest.Same(t, "the page contains the path", false, strings.Contains(text, "secret-in-a-url"))
	for _, part := range []string{"event ", "deployment ", "webhook ", "certificate "} {
		installtest.Contains(t, text, part+"https://mesh.example.com")
	}
}

// What hostile objects contain has a limit.
func TestLimits(t *testing.T) {
	many := admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{APIGroups: installtest.ListOf(1000), Resources: installtest.ListOf(1000)}}
	f := Facts{Facts: status.Facts{Facts: doctor.Facts{Webhooks: []doctor.Webhook{{
		Kind: doctor.Validating, Object: "v", Name: "v", Rules: []admissionregistrationv1.RuleWithOperations{many, many}, CABundle: slices.Concat(installtest.Times(3*maxCAs, func(i int) []byte { return caOf(t, int64(i), now, now.Add(time.Hour)) })...),
	}}}}}
	w := New(f, History{}, now).Webhooks[0]
	installtest.Same(t, "resources", maxIntercepted, len(w.Intercepted))
	installtest.Same(t, "left out", 2_000_000-maxIntercepted, w.More)
	installtest.Same(t, "CAs", maxCAs, len(w.Certificates.Rows))
}

func TestReadLatencies(t *testing.T) {
	latencies, err := ReadLatencies(strings.NewReader(`
# TYPE apiserver_admission_webhook_admission_duration_seconds histogram
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v",operation="CREATE",rejected="false",type="validating",le="0.005"} 99
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v",operation="CREATE",rejected="false",type="validating",le="0.025"} 99
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v",operation="CREATE",rejected="false",type="validating",le="+Inf"} 99
apiserver_admission_webhook_admission_duration_seconds_sum{name="v",operation="CREATE",rejected="false",type="validating"} 0.1
apiserver_admission_webhook_admission_duration_seconds_count{name="v",operation="CREATE",rejected="false",type="validating"} 99
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v",operation="UPDATE",rejected="true",type="validating",le="0.005"} 0
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v",operation="UPDATE",rejected="true",type="validating",le="0.025"} 0
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v",operation="UPDATE",rejected="true",type="validating",le="+Inf"} 1
apiserver_admission_webhook_admission_duration_seconds_sum{name="v",operation="UPDATE",rejected="true",type="validating"} 0.9
apiserver_admission_webhook_admission_duration_seconds_count{name="v",operation="UPDATE",rejected="true",type="validating"} 1
# TYPE apiserver_admission_webhook_fail_open_count counter
apiserver_admission_webhook_fail_open_count{name="v",type="validating"} 2
apiserver_admission_webhook_fail_open_count{name="without-calls",type="validating"} 2
# TYPE apiserver_admission_webhook_rejection_count counter
apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="v",operation="UPDATE",rejection_code="0",type="validating"} 3
apiserver_admission_webhook_rejection_count{error_type="no_error",name="v",operation="UPDATE",rejection_code="400",type="validating"} 7
`))
	installtest.Must(t, err)
	installtest.Same(t, "latencies", Latencies{{"v", "validating"}: {Calls: 100, Mean: 10 * time.Millisecond, P99: 5 * time.Millisecond, Rejected: 1, Failed: 5}}, latencies)
	_, err = ReadLatencies(strings.NewReader("apiserver_admission_webhook_admission_duration_seconds_count{"))
	installtest.Prefix(t, "error", "read the metrics of the API server: text format parsing error in line 1: ", fmt.Sprint(err))
	latencies, err = ReadLatencies(strings.NewReader("another_metric 1\n"))
	installtest.Must(t, err)
	installtest.Same(t, "latencies of another metric", Latencies{}, latencies)
}
