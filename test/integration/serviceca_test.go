package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const (
	originatingService    = "service.beta.openshift.io/originating-service-name"
	originatingServiceUID = "service.beta.openshift.io/originating-service-uid"
)

// serviceCA plays OpenShift's service-ca: an annotated Service gets a Secret with a certificate, which the Service
// owns, and an annotated ConfigMap gets the CAs. A deleted Secret is recreated.
type serviceCA struct {
	*env
	mutex  sync.Mutex
	signer authority
	link   []byte // the signer as the previous one signed it, PEM; none for the first
	bundle []byte
}

func runServiceCA(e *env) *serviceCA {
	e.Helper()
	ca := e.authority("openshift-service-serving-signer")
	s := &serviceCA{env: e, signer: ca, bundle: ca.pem()}
	services := kube.Watch(e, e.kube.CoreV1().Services(e.namespace), metav1.ListOptions{})
	bundles := kube.Watch(e, e.kube.CoreV1().ConfigMaps(e.namespace), metav1.ListOptions{})
	secrets := kube.Watch(e, e.kube.CoreV1().Secrets(e.namespace), metav1.ListOptions{})
	for _, source := range []watch.Interface{services, bundles, secrets} {
		go func() {
			for event := range source.ResultChan() {
				s.serve(event)
			}
		}()
	}
	return s
}

func (s *serviceCA) serve(event watch.Event) {
	there := event.Type == watch.Added || event.Type == watch.Modified
	switch o := event.Object.(type) {
	case *corev1.Service:
		if there {
			s.issueFor(o)
		}
	case *corev1.ConfigMap:
		if there {
			s.inject(o)
		}
	case *corev1.Secret:
		if event.Type == watch.Deleted {
			s.restore(o)
		}
	}
}

func (s *serviceCA) issueFor(service *corev1.Service) {
	name := service.Annotations[wellknown.AnnotationServingCertSecret]
	if name == "" {
		return
	}
	if there, err := s.kube.CoreV1().Secrets(s.namespace).Get(s.ctx, name, metav1.GetOptions{}); err == nil {
		if there.Annotations[originatingServiceUID] != string(service.UID) {
			patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: "secret %s/%s does not have corresponding service UID %s"}}}`,
				wellknown.AnnotationServingCertError, s.namespace, name, service.UID)
			if service.Annotations[wellknown.AnnotationServingCertError] == "" {
				_, err := s.kube.CoreV1().Services(s.namespace).Patch(s.ctx, service.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				report(s.env, err)
			}
		}
		return
	}
	_, err := s.kube.CoreV1().Secrets(s.namespace).Create(s.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Annotations:     map[string]string{originatingService: service.Name, originatingServiceUID: string(service.UID)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID}},
		},
		Type: corev1.SecretTypeTLS,
		Data: s.issue(service.Name),
	}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		report(s.env, err)
	}
}

// issue is a new pair. What signed it comes with it, as far as the CA before.
func (s *serviceCA) issue(service string) map[string][]byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	report(s.env, err)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	host := service + "." + s.namespace + ".svc"
	chain := slices.Concat(s.signer.sign(s.env, key.Public(), []string{host, host + ".cluster.local"}), s.link)
	return map[string][]byte{corev1.TLSCertKey: chain, corev1.TLSPrivateKeyKey: keyPEM(s.env, key)}
}

func (s *serviceCA) inject(bundle *corev1.ConfigMap) {
	s.mutex.Lock()
	text := string(s.bundle)
	s.mutex.Unlock()
	if bundle.Annotations[wellknown.AnnotationInjectCABundle] != "true" || bundle.Data[wellknown.KeyServiceCA] == text {
		return
	}
	injected := bundle.DeepCopy()
	injected.Data = map[string]string{wellknown.KeyServiceCA: text}
	_, err := s.kube.CoreV1().ConfigMaps(s.namespace).Update(s.ctx, injected, metav1.UpdateOptions{})
	report(s.env, err)
}

func (s *serviceCA) restore(gone *corev1.Secret) {
	service, err := s.kube.CoreV1().Services(s.namespace).Get(s.ctx, gone.Annotations[originatingService], metav1.GetOptions{})
	if gone.Annotations[originatingService] != "" && err == nil {
		s.issueFor(service)
	}
}

func (s *serviceCA) renew() {
	s.Helper()
	for _, secret := range kube.List(s, s.kube.CoreV1().Secrets(s.namespace), metav1.ListOptions{}).Items {
		if service := secret.Annotations[originatingService]; service != "" {
			secret.Data = s.issue(service)
			kube.Update(s, s.kube.CoreV1().Secrets(s.namespace), &secret)
		}
	}
}

// changeCA signs from now on with a longer-lasting CA that the previous one signed. Both stay in the bundle.
func (s *serviceCA) changeCA() {
	s.Helper()
	next := authorityUntil(s.env, "openshift-service-serving-signer", time.Now().AddDate(2, 0, 0))
	s.mutex.Lock()
	s.link = certificatePEM(s.signer.certify(s.env, next.certificate, next.key.Public()))
	s.signer, s.bundle = next, slices.Concat(next.pem(), s.bundle)
	s.mutex.Unlock()
}

func (s *serviceCA) publish() {
	s.Helper()
	for _, bundle := range kube.List(s, s.kube.CoreV1().ConfigMaps(s.namespace), metav1.ListOptions{}).Items {
		s.inject(&bundle)
	}
}
