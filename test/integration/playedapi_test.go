package integration

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// playedAPI is the server of an APIService, which a Deployment is to run: it answers on an address
// of this machine, with the certificate that is in the Secret when it is asked.
type playedAPI struct {
	*env
	group      string
	deployment string
	apis       aggregator.Interface
	listener   net.Listener
}

// playAPI plays the server of a group of the test's own: APIServices are the whole cluster's.
func playAPI(e *env) *playedAPI {
	e.Helper()
	apis, err := aggregator.NewForConfig(cluster.Config())
	e.must(err)
	a := &playedAPI{env: e, group: e.namespace + ".example.com", deployment: "server", apis: apis, listener: listen(e)}
	e.Cleanup(func() {
		err := apis.ApiregistrationV1().APIServices().Delete(context.Background(), a.name(), metav1.DeleteOptions{})
		if !apierrors.IsNotFound(err) {
			e.must(err)
		}
	})
	return a
}

func (a *playedAPI) name() string { return "v1." + a.group }

func (a *playedAPI) service() string { return a.deployment + "-service" }

func (a *playedAPI) csv(name string) *operatorsv1alpha1.ClusterServiceVersion {
	c := csv(name, "server")
	c.Spec.WebhookDefinitions = nil
	return a.ownedBy(c)
}

func (a *playedAPI) ownedBy(c *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	c.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{Name: "ponds", Group: a.group, Version: "v1", Kind: "Pond", DeploymentName: a.deployment}}
	return c
}

func (a *playedAPI) start() {
	a.Helper()
	server := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{GetCertificate: a.certificate}, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.ServeTLS(a.listener, "", "") }() // it ends with the server
	a.Cleanup(func() { _ = server.Close() })
	awaitObject(a.env, a.kube.CoreV1().Services(a.namespace), a.service())
	endpointBehind(a.env, a.service(), "server-0", a.listener)
}

func (a *playedAPI) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	secret, err := a.kube.CoreV1().Secrets(a.namespace).Get(context.Background(), a.service()+"-cert", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	return &pair, err
}

// ServeHTTP answers what an API server asks of one that serves a version of a group, and what people ask.
func (a *playedAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch strings.TrimSuffix(r.URL.Path, "/") {
	case "/apis/" + a.group + "/v1":
		answer = metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: a.group + "/v1",
			APIResources: []metav1.APIResource{{Name: "ponds", SingularName: "pond", Namespaced: true, Kind: "Pond", Verbs: metav1.Verbs{"list"}}},
		}
	case "/apis/" + a.group + "/v1/ponds":
		answer = map[string]any{"kind": "PondList", "apiVersion": a.group + "/v1", "items": []any{}}
	default:
		permitAtValidate(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the client's concern
}

func (a *playedAPI) registered() *apiregistrationv1.APIService {
	a.Helper()
	live, err := a.apis.ApiregistrationV1().APIServices().Get(a.ctx, a.name(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	a.must(err)
	return live
}

// isAvailable waits until the API server passes requests on.
func (a *playedAPI) isAvailable() {
	a.Helper()
	a.eventually("the APIService is available", func() (bool, any) {
		live := a.registered()
		for _, c := range live.Status.Conditions {
			if c.Type == apiregistrationv1.Available && c.Status == apiregistrationv1.ConditionTrue {
				return true, nil
			}
		}
		return false, live.Status
	})
}

func (a *playedAPI) call(ctx context.Context) error {
	answer, err := a.kube.Discovery().RESTClient().Get().AbsPath("/apis", a.group, "v1", "ponds").DoRaw(ctx)
	if err == nil && !strings.Contains(string(answer), "PondList") {
		err = fmt.Errorf("the answer is %s", answer)
	}
	return err
}

// runAPI runs a manager that has installed the ClusterServiceVersion of an API that serves.
func runAPI(e *env, change ...func(*controller.Options)) *playedAPI {
	e.Helper()
	a := playAPI(e)
	e.manage(append(change, throughAPIServer)...)
	e.create(a.csv("operator.v1"))
	a.start()
	e.succeeds("operator.v1")
	return a
}

// callAllTheTime lists ponds again and again, until it is asked to end, and fails the test if a call failed. Each call
// has a connection of its own to the API server's backend or not, as that likes.
func (a *playedAPI) callAllTheTime() (end func(atLeast int)) {
	ctx, cancel := context.WithCancel(a.ctx)
	var running sync.WaitGroup
	var calls int
	var failures []error
	running.Go(func() {
		for every := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				every.Stop()
				return
			case <-every.C:
				err := a.call(a.ctx)
				calls++
				if err != nil && !errors.Is(err, context.Canceled) {
					failures = append(failures, err)
				}
			}
		}
	})
	return func(atLeast int) {
		a.Helper()
		cancel()
		running.Wait()
		if len(failures) > 0 || calls < atLeast {
			a.Errorf("%d calls, of which %d failed: %v", calls, len(failures), failures)
		}
	}
}

func sameSpec(one, other *apiregistrationv1.APIService) bool {
	return equality.Semantic.DeepEqual(one.Spec, other.Spec)
}

// leavesNothing fails when the operator that no longer exists left its APIService, or a binding of the server.
func (a *playedAPI) leavesNothing() {
	a.Helper()
	if left := delegations(a.env); a.registered() != nil || len(left) > 0 {
		a.Errorf("left behind: %v, APIService %v", left, a.registered())
	}
}
