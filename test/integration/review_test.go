package integration

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// routed is a manager whose connections all lead to a listener: there is no kube-proxy here.
func routed(l net.Listener) func(*controller.Options) {
	return func(o *controller.Options) {
		serving(o)
		o.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		}
	}
}

// onPodTemplates has the webhook called for PodTemplates with a label that none has.
func onPodTemplates(c *operatorsv1alpha1.ClusterServiceVersion) {
	d := &c.Spec.WebhookDefinitions[0]
	d.Rules[0] = rule([]string{""}, "podtemplates")
	d.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"example.com/reviewed": "nobody"}}
}

// A webhook is registered when its server answers a review at its path. Later answers do not change the registration.
func TestPathNotServed(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>welcome</html>")) }
	for name, test := range map[string]struct {
		change          func(*operatorsv1alpha1.ClusterServiceVersion)
		handler         http.HandlerFunc // what is served at /wrong
		reason, message string
	}{
		"there is nothing":                           {onPodTemplates, http.NotFound, "PathNotServed", `path "/wrong" with status 404 Not Found`},
		"there is nothing, and the rules match none": {func(*operatorsv1alpha1.ClusterServiceVersion) {}, http.NotFound, "PathNotServed", `path "/wrong" with status 404 Not Found`},
		"there is a page":                            {onPodTemplates, page, "NoReview", `path "/wrong" with content type "text/html"`},
		"it is a conversion's": {onPodTemplates, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{}}`))
		}, "NoReview", `kind "ConversionReview"`},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			listener := listen(e)
			e.manage(routed(listener))
			wrong := csv("operator.v1", "server")
			test.change(wrong)
			wrong.Spec.WebhookDefinitions[0].WebhookPath = new("/wrong")
			e.create(wrong)
			e.eventually("there is a certificate to serve", func() (bool, any) { return e.deployment("server") != nil, nil })
			var broken atomic.Bool
			answer(e, listener, servingCertificate(e), func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/wrong":
					test.handler(w, r)
				case broken.Load():
					http.Error(w, "broken", http.StatusInternalServerError)
				default:
					permitAtValidate(w, r)
				}
			})
			endpoint(e, listener)
			e.webhookIs("Waiting", test.reason, test.message)
			e.eventually("the ClusterServiceVersion reports it, too", func() (bool, any) {
				s := e.get("operator.v1").Status
				return s.Phase == "Installing" && strings.Contains(s.Message, test.message), s.Message
			})
			registersNothing(e)

			e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[0].WebhookPath = new("/validate")
			})
			e.succeeds("operator.v1")
			before := e.registration("v.example.com").ResourceVersion
			broken.Store(true)
			e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.DisplayName = "edited" })
			e.eventually("the edit is observed", func() (bool, any) {
				status := e.rollout("operator.v1")
				return status.ObservedGeneration == e.get("operator.v1").Generation && status.ReadyRegistrations == 1 && status.Registrations == 1, status
			})
			same(t, "resourceVersion of the registration", e.registration("v.example.com").ResourceVersion, before)
		})
	}
}

// A path is edited to one that pods do not serve, and then a client deletes the registration. It is
// not recreated at the edited path, only at the one that it called.
func TestEditedPathOfADeletedRegistration(t *testing.T) {
	e := newOperatorEnv(t)
	listener := listen(e)
	e.manage(routed(listener))
	c := csv("operator.v1", "server")
	onPodTemplates(c)
	e.create(c)
	e.eventually("there is a certificate to serve", func() (bool, any) { return e.deployment("server") != nil, nil })
	answer(e, listener, servingCertificate(e), permitAtValidate)
	endpoint(e, listener)
	e.succeeds("operator.v1")
	callsAt := func(path string) {
		e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.WebhookDefinitions[0].WebhookPath = &path })
	}
	callsAt("/wrong")
	e.webhookIs(managerv1alpha1.WebhookRegistered, "PathNotServed")
	e.must(e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(e.ctx, e.registration("v.example.com").Name, metav1.DeleteOptions{}))
	e.webhookIs(managerv1alpha1.WebhookWaiting, "PathNotServed")
	registersNothing(e)
	callsAt("/validate")
	e.eventually("the webhook is registered at the path that is served", func() (bool, any) {
		found, registered := registered(e)["v.example.com"]
		return registered && *found.Webhooks[0].ClientConfig.Service.Path == "/validate", found
	})
}

// A server that answers known callers only serves its path.
func TestServerThatAuthenticatesCallers(t *testing.T) {
	e := newOperatorEnv(t)
	listener := listen(e)
	e.manage(routed(listener))
	c := csv("operator.v1", "server")
	onPodTemplates(c)
	e.create(c)
	e.eventually("there is a certificate to serve", func() (bool, any) { return e.deployment("server") != nil, nil })
	answer(e, listener, servingCertificate(e), func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "who are you?", http.StatusUnauthorized)
	})
	endpoint(e, listener)
	e.succeeds("operator.v1")
}
