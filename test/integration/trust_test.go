package integration

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math"
	"slices"
	"strconv"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// trusting are the kinds of registrations, each named after what an author calls it.
var trusting = []schema.GroupVersionResource{
	admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"),
	admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations"),
	outside[0],
}

// trustWatch knows every state that the Namespace's Secrets and registrations, and some
// conversions, were ever in since it began.
type trustWatch struct {
	*env
	names  []string // of what has to trust
	crds   []string
	mutex  sync.Mutex
	events []watch.Event
}

func watchTrust(e *env, crds ...string) *trustWatch {
	e.Helper()
	w := &trustWatch{env: e, names: slices.Clone(crds), crds: crds}
	for _, o := range w.registrations() {
		name, _ := bundleOf(&o)
		w.names = append(w.names, name)
	}
	if len(w.names) == 0 {
		e.Fatal("nothing is registered that could trust")
	}
	secrets := kube.Watch(e, e.kube.CoreV1().Secrets(e.namespace), metav1.ListOptions{})
	ours := metav1.ListOptions{LabelSelector: ofNamespace(e.namespace)}
	sources := []watch.Interface{secrets}
	for _, resource := range trusting {
		registrations := kube.Watch(e, e.any.Resource(resource), ours)
		sources = append(sources, registrations)
	}
	for _, name := range crds {
		definition := kube.Watch(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		sources = append(sources, definition)
	}
	for _, source := range sources {
		e.Cleanup(source.Stop)
		go func() {
			for event := range source.ResultChan() {
				w.mutex.Lock()
				w.events = append(w.events, event)
				w.mutex.Unlock()
			}
		}()
	}
	return w
}

// history is everything so far, in the order in which it was written, when the watches have reported what there is now.
func (w *trustWatch) history() []watch.Event {
	w.Helper()
	latest := []string{marker(w.env).ResourceVersion}
	for _, o := range w.registrations() {
		latest = append(latest, o.GetResourceVersion())
	}
	for _, name := range w.crds {
		latest = append(latest, kube.Get(w, extensions(w.env).ApiextensionsV1().CustomResourceDefinitions(), name).ResourceVersion)
	}
	var events []watch.Event
	w.eventually("the watches have reported everything", func() (bool, any) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		events = slices.Clone(w.events)
		return !slices.ContainsFunc(latest, func(version string) bool {
			return !slices.ContainsFunc(events, func(e watch.Event) bool { return versionOf(e) == number(version) })
		}), len(events)
	})
	slices.SortStableFunc(events, func(a, b watch.Event) int { return cmp.Compare(versionOf(a), versionOf(b)) })
	return events
}

func (w *trustWatch) registrations() []unstructured.Unstructured {
	w.Helper()
	var all []unstructured.Unstructured
	for _, resource := range trusting {
		all = append(all, kube.List(w, w.any.Resource(resource), metav1.ListOptions{LabelSelector: ofNamespace(w.namespace)}).Items...)
	}
	return all
}

func ofNamespace(namespace string) string {
	return wellknown.LabelOwnerNamespace + "=" + namespace + ",!" + wellknown.LabelCanary
}

func versionOf(event watch.Event) int {
	return number(event.Object.(metav1.Object).GetResourceVersion())
}

func number(resourceVersion string) int {
	n, err := strconv.Atoi(resourceVersion)
	if err != nil {
		panic(err) // an API server that stores in etcd counts
	}
	return n
}

// neverWithout fails when a registration, or a conversion, did not trust, at any time, what
// its pods were given, or what they were given before and the Secret does not record as ended.
func (w *trustWatch) neverWithout(served ...[]byte) {
	w.Helper()
	required := served[:1] // what pods serve from the start on
	trusted, states := map[string][]byte{}, map[string]int{}
	now := 0
	for _, event := range w.history() {
		now = versionOf(event)
		if secret, ok := event.Object.(*corev1.Secret); ok {
			if given := givenBy(secret); event.Type != watch.Deleted && len(given) > 0 {
				required = given
			}
		} else {
			name, bundle := bundleOf(event.Object)
			trusted[name] = bundle
			states[name]++
		}
		for name, bundle := range trusted {
			w.contains(name, bundle, required, now)
		}
	}
	for _, name := range w.names {
		if states[name] < 2 {
			w.Errorf("%s was written %d times since, so this shows nothing", name, states[name])
		}
		w.contains(name, trusted[name], served[1:], now)
	}
}

// givenBy are the CAs of what pods are given by a Secret, and of what it reports that they may
// serve still; none for what does not give them anything.
func givenBy(secret *corev1.Secret) [][]byte {
	if secret.Name != servingSecret || len(secret.Data[corev1.TLSCertKey]) == 0 || secret.Annotations[wellknown.AnnotationFingerprint] == "" {
		return nil
	}
	return slices.Concat(split(secret.Data[wellknown.KeyCA]), split(secret.Data[wellknown.KeyPreviousCAs]))
}

func bundleOf(o runtime.Object) (name string, bundle []byte) {
	if crd, ok := o.(*apiextensionsv1.CustomResourceDefinition); ok {
		if crd.Spec.Conversion.Webhook == nil {
			return crd.Name, nil
		}
		return crd.Name, crd.Spec.Conversion.Webhook.ClientConfig.CABundle
	}
	registration := o.(*unstructured.Unstructured)
	text, _, _ := unstructured.NestedString(registration.Object, "spec", "caBundle")
	if webhooks, _, _ := unstructured.NestedSlice(registration.Object, "webhooks"); len(webhooks) > 0 {
		text, _, _ = unstructured.NestedString(webhooks[0].(map[string]any), "clientConfig", "caBundle")
	}
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err) // the API server writes bytes so
	}
	return registration.GetKind() + " " + registration.GetName(), bundle
}

func (w *trustWatch) contains(name string, bundle []byte, authorities [][]byte, version int) {
	w.Helper()
	for _, ca := range authorities {
		if !bytes.Contains(bundle, ca) {
			w.Errorf("at resourceVersion %d pods may serve a certificate that %s does not trust, signed by %q", version, name, parse(ca).Subject)
		}
	}
}

func split(bundle []byte) [][]byte {
	var all [][]byte
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		all = append(all, pem.EncodeToMemory(block))
	}
	return all
}

// served is a certificate that a pod presented from one state of the API server to another. It
// may have begun later, as trust has to come first, and it ended later: a client that finds another
// presented may remove the trust in this one at once.
type served struct {
	pair        tls.Certificate
	since, till int
}

func (p *playedPod) noteServed(pair tls.Certificate, since int) {
	p.Helper()
	if n := len(p.served); n > 0 {
		p.served[n-1].till = number(marker(p.env).ResourceVersion)
	}
	p.served = append(p.served, served{pair, since, math.MaxInt})
}

// marker is a Secret that records the current resourceVersion of the API server.
func marker(e *env) *corev1.Secret {
	e.Helper()
	return kube.Create(e, e.kube.CoreV1().Secrets(e.namespace), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "marker-"}})
}

// trustsAllServed fails if in any state of a registration an API server would have refused what a pod then served.
func (w *trustWatch) trustsAllServed(p *playedPod) {
	w.Helper()
	checked, last := 0, map[string]func(till int){}
	for _, event := range w.history() {
		if _, secret := event.Object.(*corev1.Secret); secret {
			continue
		}
		name, bundle := bundleOf(event.Object)
		since := versionOf(event)
		if before := last[name]; before != nil {
			before(since)
		}
		last[name] = func(till int) {
			for _, s := range p.served {
				if s.since < till && s.till > since {
					w.verifies(s.pair, bundle, name, since)
					checked++
				}
			}
		}
	}
	for _, still := range last {
		still(math.MaxInt)
	}
	if len(p.served) < 2 || checked < 2*len(p.served) {
		w.Errorf("of %d certificates that were served %d states of registrations were compared: this shows nothing", len(p.served), checked)
	}
}

// verifies fails when an API server would not under a bundle.
func (w *trustWatch) verifies(pair tls.Certificate, bundle []byte, name string, version int) {
	w.Helper()
	roots, rest := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	for _, der := range pair.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		w.must(err)
		rest.AddCert(c)
	}
	_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: rest, DNSName: "server-service." + w.namespace + ".svc"})
	if err != nil {
		w.Errorf("from resourceVersion %d on %s did not trust what a pod served, a certificate of %q: %v", version, name, pair.Leaf.Issuer, err)
	}
}
