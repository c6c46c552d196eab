package integration

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An operator whose webhook intercepts cluster-scoped objects gets its own Service, volumes and nodes back. The
// author's condition limits the webhook to the addresses of this test's namespace: other tests have Services, too.
func TestSelfDeadlockInNoNamespace(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	c := csv("operator.v1", "server")
	w := &c.Spec.WebhookDefinitions[0]
	w.TimeoutSeconds = new(int32(1))
	w.Rules = []admissionregistrationv1.RuleWithOperations{
		everything("networking.k8s.io", "ipaddresses", "servicecidrs"),
		everything("", "persistentvolumes"), everything("certificates.k8s.io", "certificatesigningrequests"),
	}
	c.Annotations = map[string]string{wellknown.AnnotationMatchConditions: fmt.Sprintf(`
v.example.com:
- name: here
  expression: request.resource.resource != 'ipaddresses' || [oldObject, object].exists(o, o != null && o.spec.parentRef.namespace == '%s')
`, e.namespace)}
	m := e.manage()
	e.install(c)

	m.looksAfter(func() {
		e.must(e.kube.CoreV1().Services(e.namespace).Delete(e.ctx, "server-service", metav1.DeleteOptions{}))
	})
	e.eventually("the Service is back", func() (bool, any) {
		service, err := e.kube.CoreV1().Services(e.namespace).Get(e.ctx, "server-service", metav1.GetOptions{})
		return err == nil && service.Spec.ClusterIP != "", err
	})

	const apiServer, tenant, claim = "system:apiserver", "tenant", "server-6d4cf56db6-x7k2p-scratch"
	const kubeletSigner, otherSigner = "kubernetes.io/kube-apiserver-client-kubelet", "example.com/signer"
	bootstrappers := []string{"system:bootstrappers"}
	for name, a := range map[string]attempt{
		"its address, by the API server":         {apiServer, nil, clusterIP(e.namespace, "server-service"), true},
		"the default range, by the API server":   {apiServer, nil, serviceRange, true},
		"another address, by the API server":     {apiServer, nil, clusterIP(e.namespace, "other"), false},
		"its address, by a tenant":               {tenant, nil, clusterIP(e.namespace, "server-service"), false},
		"the default range, changed by a tenant": {tenant, nil, serviceRange, false},
		"its volume, by the binder":              {controllers + "persistent-volume-binder", nil, boundVolume(e.namespace, claim), true},
		"another volume, by the binder":          {controllers + "persistent-volume-binder", nil, boundVolume(e.namespace, "other"), false},
		"its volume, by a tenant":                {tenant, nil, boundVolume(e.namespace, claim), false},
		"the certificate of a node":              {"system:bootstrap:abcdef", bootstrappers, certificateOf(e, kubeletSigner), true},
		"another certificate for a node":         {"system:bootstrap:abcdef", bootstrappers, certificateOf(e, otherSigner), false},
		"the certificate of a node, by a tenant": {tenant, nil, certificateOf(e, kubeletSigner), false},
	} {
		e.Run(name, func(t *testing.T) { as(sub(t, e), a) })
	}
}

func clusterIP(namespace, service string) deed {
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.NetworkingV1().IPAddresses().Create(ctx, &networkingv1.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Name: "192.0.2.7"},
			Spec:       networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: namespace, Name: service}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

// serviceRange changes the range that every cluster has.
func serviceRange(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.NetworkingV1().ServiceCIDRs().Patch(ctx, "kubernetes", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"example.com/seen":"yes"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func boundVolume(namespace, claim string) deed {
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "pv-"},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}},
				ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: claim},
			},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

func certificateOf(e *env, signer string) deed {
	e.Helper()
	key := installtest.OrPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	der := installtest.OrPanic(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:one", Organization: []string{"system:nodes"}}}, key))
	request := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CertificatesV1().CertificateSigningRequests().Create(ctx, request, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}
