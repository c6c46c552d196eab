package scale

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const restartTime = 3 * time.Second

type server struct {
	*env
	csv        *operatorsv1alpha1.ClusterServiceVersion
	name       string // of the Deployment
	listener   net.Listener
	reloads    bool
	restarting *gauge // of all servers

	mutex    sync.Mutex
	loaded   *tls.Certificate
	runsFor  string // the certificate that it was restarted for
	restarts int
}

// playServers stands for the Deployments of some ClusterServiceVersions, the controller
// that rolls them out, and their pods.
func (e *env) playServers(csvs []*operatorsv1alpha1.ClusterServiceVersion) []*server {
	e.Helper()
	address := installtest.OrPanic(kube.Outside())
	byName, restarting := map[string]*server{}, &gauge{}
	var all []*server
	for _, csv := range csvs {
		listener := installtest.OrPanic(net.Listen("tcp4", net.JoinHostPort(address, "0")))
		e.Cleanup(func() { _ = listener.Close() }) // it is not called any more
		s := &server{env: e, csv: csv, name: csv.Spec.WebhookDefinitions[0].DeploymentName, listener: listener, restarting: restarting}
		csv.Spec.WebhookDefinitions[0].TargetPort = new(intstr.FromInt(listener.Addr().(*net.TCPAddr).Port))
		byName[csv.Namespace+"/"+s.name] = s
		all = append(all, s)
		go s.serve()
	}
	w := kube.Watch(e, e.kube.AppsV1().Deployments(metav1.NamespaceAll), metav1.ListOptions{LabelSelector: wellknown.LabelManaged + "=true"})
	go func() {
		for event := range w.ResultChan() {
			d, ok := event.Object.(*appsv1.Deployment)
			if !ok || event.Type == watch.Deleted || d.Status.ObservedGeneration == d.Generation {
				continue
			}
			if s := byName[d.Namespace+"/"+d.Name]; s != nil {
				s.rollOut(d)
			}
		}
	}()
	return all
}

func (s *server) rollOut(d *appsv1.Deployment) {
	s.mutex.Lock()
	restart := d.Spec.Template.Annotations[wellknown.AnnotationRestartedFor]
	replaced := restart != s.runsFor
	s.runsFor = restart
	if replaced {
		s.restarts++
	}
	s.mutex.Unlock()
	if !replaced {
		s.makeAvailable(d)
		return
	}
	s.restarting.add(1)
	time.AfterFunc(restartTime, func() {
		s.load()
		s.makeAvailable(d)
		s.restarting.add(-1)
	})
}

func (s *server) secretName() string { return names.Secret(names.Service(s.name)) }

func (s *server) mounted() (*tls.Certificate, error) {
	secret, err := s.kube.CoreV1().Secrets(s.csv.Namespace).Get(s.ctx, s.secretName(), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	return &pair, err
}

func (s *server) load() {
	pair, err := s.mounted()
	if err != nil {
		s.Errorf("%s does not start: %v", s.name, err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.loaded = pair
}

// serve answers as far as a TLS handshake goes.
func (s *server) serve() {
	config := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if s.reloads {
			return s.mounted()
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return s.loaded, nil
	}}
	for {
		connection, err := s.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			_ = tls.Server(connection, config).HandshakeContext(context.WithoutCancel(s.ctx)) // the client's concern
		}()
	}
}

// age puts into the cluster what a manager would have left there that long ago.
func (s *server) age(by time.Duration) error {
	secrets := s.kube.CoreV1().Secrets(s.csv.Namespace)
	live, err := secrets.Get(s.ctx, s.secretName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	policy, then := certs.DefaultPolicy(), time.Now().Add(-by)
	facts := certs.Facts{Live: true, Names: certs.DNSNames(names.Service(s.name), s.csv.Namespace)}
	asked := certs.Decide(facts, policy, then)
	generation, err := certs.Mint(*asked.Mint)
	if err != nil {
		return err
	}
	facts.Issued = &generation
	decided := certs.Decide(facts, policy, then)
	live.Data = decided.Write.Data
	maps.Copy(live.Annotations, decided.Write.Annotations)
	if _, err := secrets.Update(s.ctx, live, metav1.UpdateOptions{}); err != nil {
		return err
	}
	registration := names.WebhookConfiguration("v.example.com", s.csv.Namespace, s.csv.Name, string(operatorsv1alpha1.ValidatingAdmissionWebhook))
	trust := fmt.Appendf(nil, `[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":%q}]`, base64Of(decided.Trust))
	_, err = s.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(s.ctx, registration, types.JSONPatchType, trust, metav1.PatchOptions{})
	return err
}

func (s *server) start() error {
	s.load()
	pods := s.kube.CoreV1().Pods(s.csv.Namespace)
	pod, err := pods.Create(s.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: s.name + "-0", Labels: map[string]string{"app": s.name, wellknown.LabelCSV: s.csv.Name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "example.com/server:1"}}, AutomountServiceAccountToken: new(false)},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	ip := s.listener.Addr().(*net.TCPAddr).IP.String()
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	_, err = pods.UpdateStatus(s.ctx, pod, metav1.UpdateOptions{})
	return err
}
