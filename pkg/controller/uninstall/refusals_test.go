package uninstall

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// What the API server refuses at the end of a deletion is reported with the verb, the object and the
// next step. A refused read names the verb and the user, and is not called a write.
func TestRefusedEnd(t *testing.T) {
	const user = `User \"manager\" cannot list resource \"clusterroles\"`
	for refused, want := range map[string]string{
		"GET /apis/rbac.authorization.k8s.io/v1/clusterroles":                                      `refuses a request: User "manager" cannot list resource "clusterroles"`,
		"DELETE /apis/olm-webhook-manager.io/v1alpha1/namespaces/shop/webhookrollouts/shop.v1":     "refuses to delete WebhookRollout shop/shop.v1: ",
		"PATCH /apis/operators.coreos.com/v1alpha1/namespaces/shop/clusterserviceversions/shop.v1": "refuses to remove the finalizer of ClusterServiceVersion shop/shop.v1: ",
	} {
		answer := func(r *http.Request) (*http.Response, error) {
			code, body := http.StatusOK, "{}"
			if r.Method+" "+r.URL.Path == refused {
				code, body = http.StatusForbidden, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "`+user+`"}`
			}
			return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(body)), Request: r}, nil
		}
		config := &rest.Config{Host: "http://localhost", Transport: roundTripper(answer), QPS: -1}
		kube := installtest.OrPanic(kubernetes.NewForConfig(config))
		olm := installtest.OrPanic(olmclient.New(config))
		log := logrus.New()
		log.SetOutput(io.Discard)
		set := clients.Set{Kube: kube, OLM: olm}
		u := &Uninstaller{Set: set, Log: logrus.NewEntry(log), Writer: &write.Writer{Set: set, Now: time.Now}}
		csv := installtest.Operator(nil)
		causes, err := Refusals(u.Finish(t.Context(), csv, nil, false, owners.Ownership{}))
		if err != nil || !strings.Contains(causes.Error(), want) || !strings.Contains(causes.Error(), "grant the named user the permission") {
			t.Errorf("%s: %v, %v, want %q", refused, causes, err, want)
		}
	}
	if _, err := Refusals(errors.New("no connection")); err == nil {
		t.Error("a lost connection counts as a refusal")
	}
}

// The definitions of the cluster are listed once for all ClusterServiceVersions.
func TestDefinitionsAreListedOnce(t *testing.T) {
	lists := 0
	answer := func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && r.URL.Path == "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" {
			lists++
		}
		code, body := http.StatusOK, "{}"
		if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
			code, body = http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(body)), Request: r}, nil
	}
	set, err := clients.New(&rest.Config{Host: "http://localhost", Transport: roundTripper(answer), QPS: -1})
	installtest.Must(t, err)
	log := logrus.New()
	log.SetOutput(io.Discard)
	entry := logrus.NewEntry(log)
	u := &Uninstaller{Set: set, Log: entry, Live: &live.Reader{Set: set, Log: entry}, Writer: &write.Writer{Set: set, Now: time.Now}}
	csvs := installtest.Times(5, func(int) *operatorsv1alpha1.ClusterServiceVersion { return installtest.Operator(nil) })
	for _, csv := range csvs {
		csv.Finalizers = []string{wellknown.FinalizerCSV}
	}
	installtest.Must(t, u.stopManagingAll(t.Context(), csvs))
	installtest.Same(t, "lists of definitions", 1, lists)
}

func TestKeptByFinalizers(t *testing.T) {
	named := func(name string, finalizers ...string) drift.Object {
		return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}
	}
	installtest.Must(t, keptByFinalizers([]drift.Object{named("a")}))
	err := keptByFinalizers([]drift.Object{named("a"), named("b", "example.com/one", "example.com/two")})
	installtest.Same(t, "error", "finalizers keep ValidatingWebhookConfiguration b from being deleted: example.com/one, example.com/two. "+
		"Remove them, since API servers continue to call its webhooks", err.Error())
}
