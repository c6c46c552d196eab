package integration

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Doctor finds each fault of webhooks without an owner on a real API server for a read-only user, and writes nothing.
func TestDoctor(t *testing.T) {
	e := newParallelEnv(t)
	ca, other := e.authority("ca"), e.authority("other")
	ended := time.Now().Add(-time.Minute)
	webhookServer(e, "sound", ca, leafOf(e, ca, "sound", time.Now().AddDate(0, 1, 0)))
	webhookServer(e, "ended", ca, leafOf(e, ca, "ended", ended))
	webhookServer(e, "foreign", ca, leafOf(e, other, "foreign", time.Now().AddDate(0, 1, 0)))
	webhookServer(e, "away", ca, nil)
	webhookServer(e, "headless", ca, leafOf(e, ca, "headless", time.Now().AddDate(0, 1, 0)), func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone })
	webhookServer(e, "elsewhere", ca, leafOf(e, ca, "elsewhere", time.Now().AddDate(0, 1, 0)), func(s *corev1.Service) { s.Spec.Ports[0].Name = "other" })
	webhookServer(e, "outside", ca, nil, func(s *corev1.Service) {
		s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "hook.example.com"}
	})
	aggregate(e, "away", ca)
	a, b := neighbour(e), neighbour(e)
	if a.namespace > b.namespace {
		a, b = b, a
	}
	hookDeployment(a)
	hookDeployment(b)
	hook(e, a.namespace+"."+e.namespace, a.namespace, "hook", nil, b.namespace, "pods")
	hook(e, b.namespace+"."+e.namespace, b.namespace, "hook", nil, a.namespace, "pods")
	hookEndpoint(a, "hook", "192.0.2.1", 443, "hook-gone", "") // of a pod that is lost
	crashing, conditional := neighbour(e), neighbour(e)
	pod := hookPod(crashing)
	hook(e, crashing.namespace+"."+e.namespace, crashing.namespace, "hook", nil, crashing.namespace, "pods")
	hookDeployment(conditional)
	hook(e, conditional.namespace+"."+e.namespace, conditional.namespace, "hook", nil, conditional.namespace, "pods", exempting)

	place, userAgent := auditEnd(e), e.namespace+"/doctor"
	want := []string{
		"Error Deadlock: " + a.namespace + ", " + b.namespace,
		"Error ForeignCertificate: foreign",
		"Error NoReadyEndpoints: " + a.namespace,
		"Error NoReadyEndpoints: " + b.namespace,
		"Error NoReadyEndpoints: away",
		"Error NoReadyEndpoints: APIService v1",
		"Error UnfitCertificate: ended",
		"Error NoEndpointAtPort: elsewhere",
		"Unknown HeadlessService: headless",
		"Unknown NotAsked: outside",
		"Error NoReadyEndpoints: " + crashing.namespace,
		"Warning PossibleDeadlock: " + crashing.namespace,
		"Error NoReadyEndpoints: " + conditional.namespace,
		"Warning PossibleDeadlock: " + conditional.namespace,
	}
	slices.Sort(want)
	same(t, "findings", diagnose(e, userAgent), want)
	for _, one := range []*env{a, crashing, conditional} {
		e.eventually("a pod is refused, as reported", func() (bool, any) {
			_, err := one.kube.CoreV1().Pods(one.namespace).Create(one.ctx, aHookPod(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return wasCalled(err), err
		})
	}
	if _, err := e.kube.CoreV1().Pods(crashing.namespace).UpdateStatus(e.ctx, pod, metav1.UpdateOptions{}); err != nil {
		t.Errorf("a pod that is reported to restart in place cannot report it: %v", err)
	}
	if asked := requests(e, place, userAgent); len(asked) == 0 || len(kube.Writes(asked, userAgent)) > 0 {
		t.Errorf("it made %d requests, and wrote %+v", len(asked), kube.Writes(asked, userAgent))
	}
}

// A user who may not read what makes pods gets a note where it matters, and all else: no
// pod is left of one, and of the other there is one still.
func TestDoctorMayNotReadWorkloads(t *testing.T) {
	e := newParallelEnv(t)
	lost, there := neighbour(e), neighbour(e)
	hookDeployment(lost)
	hookPod(there)
	for _, one := range []*env{lost, there} {
		hook(e, one.namespace+"."+e.namespace, one.namespace, "hook", nil, one.namespace, "pods")
	}
	want := []string{
		"Error Deadlock: " + lost.namespace,
		"Error NoReadyEndpoints: " + lost.namespace,
		"Error NoReadyEndpoints: " + there.namespace,
		"Unknown WorkloadsUnread: " + lost.namespace,
		"Warning PossibleDeadlock: " + there.namespace,
	}
	slices.Sort(want)
	same(t, "findings", diagnose(e, e.namespace+"/doctor", "apps"), want)
}

// diagnose is what doctor finds in this test's Namespaces, each as level, code and the
// webhooks that it is about, to a user who may not read some groups.
func diagnose(e *env, userAgent string, but ...string) []string {
	e.Helper()
	config := asReader(e, but...)
	config.UserAgent = userAgent
	c, err := clusterpkg.New(config)
	e.must(err)
	var facts doctor.Facts
	e.eventually("the reader may read", func() (bool, any) { facts, err = c.Examine(e.ctx, true); return !apierrors.IsForbidden(err), err })
	e.must(err)
	var found []string
	for _, f := range doctor.Diagnose(facts, time.Now()) {
		var about []string
		for _, w := range f.Webhooks {
			_, name, _ := strings.Cut(strings.TrimPrefix(w, "APIService "), ": webhook ")
			if name, own := strings.CutSuffix(cmp.Or(name, w), "."+e.namespace+".example.com"); own {
				about = append(about, name)
			}
		}
		if len(about) > 0 {
			found = append(found, string(f.Level)+" "+f.Code+": "+strings.Join(about, ", "))
		}
	}
	slices.Sort(found)
	return found
}

// asReader is a user who may read what doctor reads except for some groups or resources, and nothing else.
func asReader(e *env, but ...string) *rest.Config {
	e.Helper()
	meta, user, read := metav1.ObjectMeta{Name: "reader-" + e.namespace}, "reader-of-"+e.namespace, []string{"get", "list"}
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}, Verbs: read},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: read},
		{APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, Verbs: read},
		{APIGroups: []string{"apps"}, Resources: []string{"replicasets", "deployments", "statefulsets", "daemonsets"}, Verbs: read},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: read},
		{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"clusterserviceversions"}, Verbs: read},
		{APIGroups: []string{managerv1alpha1.GroupName}, Resources: []string{"webhookrollouts"}, Verbs: read},
		{APIGroups: []string{""}, Resources: []string{"namespaces", "services"}, Verbs: read},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: read},
	}
	rules = slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(but, r.APIGroups[0]) || slices.Contains(but, r.Resources[0])
	})
	kube.Create(e, e.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules})
	kube.Create(e, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	})
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	return config
}

func requests(e *env, place int64, userAgent string) []auditv1.Event {
	e.Helper()
	var own []auditv1.Event
	mark := e.mark()
	e.eventually("the audit log is written", func() (bool, any) {
		all, err := cluster.Audit.Since(place)
		e.must(err)
		own = slices.DeleteFunc(slices.Clone(all), func(event auditv1.Event) bool { return event.UserAgent != userAgent })
		return slices.ContainsFunc(all, func(event auditv1.Event) bool { return event.UserAgent == mark }), len(all)
	})
	return own
}

func leafOf(e *env, ca authority, service string, end time.Time) *tls.Certificate {
	e.Helper()
	key := installtest.OrPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	pair := installtest.OrPanic(tls.X509KeyPair(ca.signUntil(e, key.Public(), []string{service + "." + e.namespace + ".svc"}, end), keyPEM(e, key)))
	return &pair
}

// webhookServer is a webhook without an owner, with one pod that presents the certificate, or none without one.
func webhookServer(e *env, name string, ca authority, certificate *tls.Certificate, changes ...func(*corev1.Service)) {
	e.Helper()
	hookService(e, name, changes...)
	if certificate != nil {
		listener := listen(e)
		serve(e, listener, *certificate)
		pod := aHookPod()
		pod.Labels["app"] = name
		pod = kube.Create(e, e.kube.CoreV1().Pods(e.namespace), pod)
		address := listener.Addr().(*net.TCPAddr)
		hookEndpoint(e, name, address.IP.String(), address.Port, pod.Name, pod.UID)
	}
	hook(e, name+"."+e.namespace, e.namespace, name, ca.pem(), e.namespace, "configmaps")
}

// hookDeployment is a webhook server that has no pods: no client makes any here.
func hookDeployment(e *env) {
	e.Helper()
	hookService(e, "hook")
	pod := aHookPod()
	kube.Create(e, e.kube.AppsV1().Deployments(e.namespace), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "hook"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
	})
}

func hookPod(e *env) *corev1.Pod {
	e.Helper()
	hookService(e, "hook")
	return kube.Create(e, e.kube.CoreV1().Pods(e.namespace), aHookPod())
}

func aHookPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "hook-", Labels: map[string]string{"app": "hook"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "hook", Image: "example.com/hook:1"}}},
	}
}

// exempting leaves requests out by what doctor cannot judge: whose they are.
func exempting(w *admissionregistrationv1.ValidatingWebhook) {
	w.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "people", Expression: "!('system:serviceaccounts' in request.userInfo.groups)"}}
}

func hookService(e *env, name string, changes ...func(*corev1.Service)) {
	e.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Name: "https", Port: 443}}},
	}
	for _, change := range changes {
		change(service)
	}
	kube.Create(e, e.kube.CoreV1().Services(e.namespace), service)
}

// hook registers a webhook at a Service for a resource of one Namespace, until the test ends.
func hook(e *env, name, namespace, service string, caBundle []byte, covered, resource string, changes ...func(*admissionregistrationv1.ValidatingWebhook)) {
	e.Helper()
	none, configurations := admissionregistrationv1.SideEffectClassNone, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: name + ".example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: service}, CABundle: caBundle},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: covered}},
			Rules:             []admissionregistrationv1.RuleWithOperations{rule([]string{""}, resource)},
		}},
	}
	for _, change := range changes {
		change(&configuration.Webhooks[0])
	}
	kube.CreateTemporary(e, configurations, configuration)
}

func aggregate(e *env, service string, ca authority) {
	e.Helper()
	client := installtest.OrPanic(aggregator.NewForConfig(cluster.Config()))
	group := e.namespace + ".example.com"
	kube.CreateTemporary(e, client.ApiregistrationV1().APIServices(), &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1." + group},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: group, Version: "v1", GroupPriorityMinimum: 100, VersionPriority: 100, CABundle: ca.pem(),
			Service: &apiregistrationv1.ServiceReference{Namespace: e.namespace, Name: service},
		},
	})
}

func hookEndpoint(e *env, service, address string, port int, pod string, uid types.UID) {
	e.Helper()
	kube.Create(e, e.kube.DiscoveryV1().EndpointSlices(e.namespace), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: e.namespace, Name: pod, UID: uid},
		}},
		Ports: []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(port))}},
	})
}
