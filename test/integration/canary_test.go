package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func throughAPIServer(o *controller.Options) { serving(o); o.Probe = prober.ModeAPIServer }

// cutOff is a manager whose packets to pods are swallowed; those of the API server are not.
func cutOff(o *controller.Options) {
	serving(o)
	o.Dial = func(context.Context, string) (net.Conn, error) { return nil, os.ErrDeadlineExceeded }
}

// The API server itself reports whether it reaches a webhook, where it is to be asked and where
// the manager can dial no endpoint, and nothing is left of the question in any outcome.
func TestProbeThroughTheAPIServer(t *testing.T) {
	for name, test := range map[string]struct {
		mode            func(*controller.Options) // throughAPIServer, when nil
		serve           func(*env, net.Listener)
		handler         http.HandlerFunc
		reason, message string // of a webhook that is not registered
	}{
		"it serves": {
			handler: permitAtValidate,
		},
		"it serves, and the manager dials no endpoint": {
			mode: cutOff, handler: permitAtValidate,
		},
		"another client's certificate, and the manager dials no endpoint": {
			mode: cutOff, serve: func(e *env, l net.Listener) { answer(e, l, otherCertificate(e), permitAtValidate) },
			reason: "ForeignCertificate", message: "to the API server",
		},
		"no server listens, and the manager dials no endpoint": {
			mode: cutOff, serve: func(e *env, l net.Listener) { e.must(l.Close()) },
			reason: "Refused", message: "refuses connections of the API server",
		},
		"it answers every request": {
			handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
		},
		"it does not serve the path": {
			handler: http.NotFound,
			reason:  "PathNotServed", message: `path "/validate" with status 404`,
		},
		"it permits every request": {
			handler: permit,
			reason:  "Interrupted", message: "lets the request for it pass",
		},
		"another client's certificate": {
			serve:  func(e *env, l net.Listener) { answer(e, l, otherCertificate(e), permitAtValidate) },
			reason: "ForeignCertificate", message: "to the API server",
		},
		"no server listens": {
			serve:  func(e *env, l net.Listener) { e.must(l.Close()) },
			reason: "Refused", message: "refuses connections of the API server",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			if test.mode == nil {
				test.mode = throughAPIServer
			}
			e.manage(test.mode)
			e.create(csv("operator.v1", "server"))
			e.eventually("there is a certificate to serve", func() (bool, any) { return e.deployment("server") != nil, nil })
			listener := listen(e)
			if test.serve == nil {
				test.serve = func(e *env, l net.Listener) { answer(e, l, servingCertificate(e), test.handler) }
			}
			test.serve(e, listener)
			endpoint(e, listener)
			if test.reason == "" {
				e.succeeds("operator.v1")
				same(t, "the webhook's reason", webhookStatus(e, "operator.v1", "v.example.com").Reason, "ProvedThroughAPIServer")
			} else {
				e.webhookIs("", test.reason, test.message)
				registersNothing(e)
			}
			removesCanaries(e)
		})
	}
}

// Of several API servers one may have learned of the canary, and another not: what that one lets pass is no proof.
func TestCanaryThatOneAPIServerHasNotSeen(t *testing.T) {
	e := newOperatorEnv(t)
	var unseen atomic.Int32
	proxy := proxy(e, func(_ int, r *http.Request) kube.Verdict {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/webhookrollouts") {
			return kube.Pass
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return kube.DropBefore
		}
		if meant := []byte(".called-0"); bytes.Contains(body, meant) && unseen.Add(1) <= 3 {
			body = bytes.ReplaceAll(body, meant, []byte(".nobody-0")) // no webhook matches it
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		return kube.Pass
	})
	manageThrough(e, proxy.Config(), throughAPIServer)
	e.create(csv("operator.v1", "server"))
	e.eventually("there is a Deployment", func() (bool, any) { return e.deployment("server") != nil, nil })
	listener := listen(e)
	e.must(listener.Close())
	endpoint(e, listener)
	e.webhookIs("", "Refused")
	registersNothing(e)
	if unseen.Load() <= 3 {
		t.Errorf("%d calls were asked for, and the last of them was not observed either", unseen.Load())
	}
	leavesNoCanary(e)
}

func TestCanaryOfAManagerThatDied(t *testing.T) {
	e := newOperatorEnv(t)
	left := render.Canary(e.create(csv("operator.v1", "server")), "server-service", 443, nil)
	kube.Create(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), left)
	e.manage()
	e.succeeds("operator.v1")
	leavesNoCanary(e)
}

// A manager that may not delete its canary in time deletes it later.
func TestCanaryThatStays(t *testing.T) {
	e := newOperatorEnv(t)
	kept := make(chan struct{}, 1)
	proxy := proxy(e, func(_ int, r *http.Request) kube.Verdict {
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "canary") {
			select {
			case kept <- struct{}{}:
				return kube.DropBefore
			default:
			}
		}
		return kube.Pass
	})
	manageThrough(e, proxy.Config(), throughAPIServer)
	e.create(csv("operator.v1", "server"))
	e.eventually("there is a Deployment", func() (bool, any) { return e.deployment("server") != nil, nil })
	listener := listen(e)
	answer(e, listener, servingCertificate(e), permitAtValidate)
	endpoint(e, listener)
	e.succeeds("operator.v1")
	same(t, "canaries that were to be removed", len(kept), 1)
	leavesNoCanary(e)
}

// Where the manager dials no endpoint, a rotation ends by what the API server finds
// behind the Service, and not before every pod serves the new certificate.
func TestRotationThroughTheAPIServer(t *testing.T) {
	e := newOperatorEnv(t)
	p, other := playPod(e), playPod(e) // the other one has another port, so it can be no more than an endpoint
	m := e.manage(cutOff, graceOf(time.Hour))
	e.create(p.csv())
	e.eventually("there is a certificate to serve", func() (bool, any) { return e.deployment("server") != nil, nil })
	p.start()
	other.serve()
	endpoint(e, p.listener)
	endpointOf(e, "other", other.listener)
	e.succeeds("operator.v1")
	before, trust := e.servingCA(), watchTrust(e)
	e.order("once")
	e.rotationIs("", "0/2 new, 2 old, 0 unknown", "serves another certificate to the API server")
	if p.get().Annotations[wellknown.AnnotationResyncedAt] == "" {
		t.Error("the pod's kubelet is not made to re-sync")
	}
	p.reload()
	m.looksAgain("operator.v1")
	if c := rotation(e); !trusts(e, before) || c.Phase != managerv1alpha1.CertificatePromoting {
		t.Errorf("a pod serves the previous certificate still, and it is %+v", c)
	}
	other.reload()
	rotates(e, 2)
	trust.neverWithout(before, e.servingCA())
	leavesNoCanary(e)
}

func leavesNoCanary(e *env) {
	e.Helper()
	becomes(e, "no canary is left", func() []types.UID { return canaries(e) }, nil)
}

// removesCanaries waits until each canary that exists now is deleted. Where the manager asks again and
// again, there may be another of the same name by then.
func removesCanaries(e *env) {
	e.Helper()
	now := canaries(e)
	e.eventually("the canaries no longer exist", func() (bool, any) {
		left := canaries(e)
		return !slices.ContainsFunc(left, func(uid types.UID) bool { return slices.Contains(now, uid) }), left
	})
}

func canaries(e *env) []types.UID {
	e.Helper()
	all := kube.List(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), metav1.ListOptions{
		LabelSelector: wellknown.LabelCanary + ",olm.owner.namespace=" + e.namespace,
	})
	var uids []types.UID
	for _, canary := range all.Items {
		uids = append(uids, canary.UID)
	}
	return uids
}

// permit answers every path as a webhook that has nothing against anything.
func permit(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no AdmissionReview", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // an API server that hears nothing reports it
}

// permitAtValidate serves the path of the webhooks of this package, and no other.
func permitAtValidate(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/validate" {
		permit(w, r)
		return
	}
	http.NotFound(w, r)
}

func answer(e *env, l net.Listener, certificate tls.Certificate, handler http.HandlerFunc) {
	server := &http.Server{Handler: handler, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	go func() { _ = server.ServeTLS(l, "", "") }() // it ends with the test
	e.Cleanup(func() { _ = server.Close() })
}

// A canary is deleted in the reconciliation that created it, before anything else is written.
func TestCanaryIsDeletedAtOnce(t *testing.T) {
	for name, serves := range map[string]bool{"it serves": true, "no server listens": false} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			var lock sync.Mutex
			var writes []string
			proxy := proxy(e, func(_ int, r *http.Request) kube.Verdict {
				if !r.URL.Query().Has("dryRun") {
					lock.Lock()
					defer lock.Unlock()
					writes = append(writes, r.Method+" "+r.URL.Path)
				}
				return kube.Pass
			})
			manageThrough(e, proxy.Config(), throughAPIServer)
			e.create(csv("operator.v1", "server"))
			e.eventually("there is a Deployment", func() (bool, any) { return e.deployment("server") != nil, nil })
			listener := listen(e)
			endpoint(e, listener)
			if serves {
				answer(e, listener, servingCertificate(e), permitAtValidate)
				e.succeeds("operator.v1")
			} else {
				e.must(listener.Close())
				e.webhookIs("", "Refused")
			}
			lock.Lock()
			seen := slices.Clone(writes)
			lock.Unlock()
			sent := 0
			for i, write := range seen[:len(seen)-1] {
				canary, found := strings.CutPrefix(write, http.MethodPatch)
				if !found || !strings.Contains(canary, "canary") {
					continue
				}
				if sent++; seen[i+1] != http.MethodDelete+canary {
					t.Errorf("after %s comes %s", write, seen[i+1])
				}
			}
			same(t, "a canary was sent", sent > 0, true)
		})
	}
}

// Of a certificate that the same CA signed as the previous one, calls through the API server report
// nothing: none is made, independent of what the manager reconciles, and the status reports what comes of it.
func TestNoCanaryWhereItsAnswerWouldNotCount(t *testing.T) {
	e := newOperatorEnv(t)
	ca := runServiceCA(e)
	var canaries atomic.Int32
	proxy := proxy(e, func(_ int, r *http.Request) kube.Verdict {
		if r.Method != http.MethodGet && r.Method != http.MethodDelete && strings.Contains(r.URL.Path, "olm-webhook-manager-canary") {
			canaries.Add(1)
		}
		return kube.Pass
	})
	p := playPod(e)
	choose(e, managerv1alpha1.ProviderServiceCA)
	m := manageThrough(e, proxy.Config(), throughAPIServer, graceOf(time.Millisecond))
	e.create(p.csv())
	awaitObject(e, e.kube.CoreV1().Secrets(e.namespace), servingSecret)
	p.start()
	endpoint(e, p.listener)
	e.succeeds("operator.v1")
	same(t, "the API server was asked before the webhook was registered", canaries.Load() > 0, true)

	ca.renew()
	e.says("because they succeed with the previous certificate as well; the previous certificate has the same CA, and is valid at most until ")
	e.says("pods that are not known to serve it are restarted from ")
	before := canaries.Load()
	m.looksAgain("operator.v1")
	same(t, "canaries that were created for nothing", canaries.Load()-before, 0)
	if c := rotation(e); c.Phase != managerv1alpha1.CertificatePromoting || restartedFor(e) != "" {
		t.Errorf("the pods are restarted for generation %q, and it is %+v", restartedFor(e), c)
	}
	leavesNoCanary(e)

	ageRotation(e, 82*24*time.Hour) // of 90 days
	e.eventually("no restart is predicted of a pod that was created since", func() (bool, any) {
		c := rotation(e)
		return c.Endpoints.String() == "0/1 new, 0 old, 1 unknown" && !strings.Contains(c.Message, "restarted"), c
	})
	m.looksAgain("operator.v1")
	same(t, "the generation that it is restarted for", restartedFor(e), "")
}
