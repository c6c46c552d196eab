package uninstall

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
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
		csv := installtest.Operator(nil)
		causes, err := Refusals(uninstallerOf(t, answer).Finish(t.Context(), csv, nil, false, owners.Ownership{}))
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
	u := uninstallerOf(t, answer)
	csvs := installtest.Times(5, func(int) *operatorsv1alpha1.ClusterServiceVersion { return installtest.Operator(nil) })
	for _, csv := range csvs {
		csv.Finalizers = []string{wellknown.FinalizerCSV}
	}
	installtest.Must(t, u.stopManagingAll(t.Context(), csvs))
	installtest.Same(t, "lists of definitions", 1, lists)
}

// Another client may change an object between its read and its deletion. Everything is read again, a few times.
func TestConflictsAreRetried(t *testing.T) {
	csv := installtest.Operator(nil, operatorsv1alpha1.WebhookDescription{GenerateName: "v.shop.io", Type: operatorsv1alpha1.ValidatingAdmissionWebhook})
	csv.Finalizers = []string{wellknown.FinalizerCSV}
	configuration := names.WebhookConfiguration("v.shop.io", csv.Namespace, csv.Name, string(operatorsv1alpha1.ValidatingAdmissionWebhook))
	const (
		configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
		conflict       = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409, "message": %q}`
	)
	path := "/apis/operators.coreos.com/v1alpha1/namespaces/" + csv.Namespace + "/clusterserviceversions/" + csv.Name
	for name, test := range map[string]struct {
		request   string // that gets conflicts
		conflicts int
		message   string
		missing   bool // the ClusterServiceVersion, after the first conflict
		requests  int
		fails     string
	}{
		"a registration":                     {request: "DELETE " + configurations + "/" + configuration, conflicts: 2, requests: 3},
		"the ClusterServiceVersion":          {request: "PATCH " + path, conflicts: 1, requests: 2},
		"a ClusterServiceVersion is deleted": {request: "PATCH " + path, conflicts: 1, missing: true, requests: 1},
		"without end":                        {request: "DELETE " + configurations + "/" + configuration, conflicts: 99, requests: 4, fails: "the object has been modified"},
		"of a webhook that denies": {
			request: "PATCH " + path, conflicts: 99, message: `admission webhook "a" denied the request: no`, requests: 1, fails: "denied the request",
		},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			answer := func(r *http.Request) (*http.Response, error) {
				code, body := http.StatusOK, "{}"
				switch request := r.Method + " " + r.URL.Path; {
				case request == test.request && requests < test.conflicts:
					code, body = http.StatusConflict, fmt.Sprintf(conflict, cmp.Or(test.message, "the object has been modified"))
					requests++
				case request == test.request:
					requests++
				case request == "GET "+configurations:
					body = fmt.Sprintf(`{"items": [{"metadata": {"name": %q, "uid": "u", "resourceVersion": "1"}}]}`, configuration)
				case request == "GET "+path && !test.missing:
					body = string(installtest.OrPanic(json.Marshal(csv)))
				case request == "GET "+path, strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata"):
					code, body = http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
				}
				return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(body)), Request: r}, nil
			}
			u := uninstallerOf(t, answer)
			err := u.stopManagingAll(t.Context(), []*operatorsv1alpha1.ClusterServiceVersion{csv.DeepCopy()})
			installtest.Same(t, "requests", test.requests, requests)
			installtest.Error(t, test.fails, err)
		})
	}
}

func uninstallerOf(t *testing.T, answer roundTripper) *Uninstaller {
	t.Helper()
	set, err := clients.New(&rest.Config{Host: "http://localhost", Transport: answer, QPS: -1})
	installtest.Must(t, err)
	log := logrus.New()
	log.SetOutput(io.Discard)
	entry := logrus.NewEntry(log)
	return &Uninstaller{Set: set, Log: entry, Live: &live.Reader{Set: set, Log: entry}, Writer: &write.Writer{Set: set, Now: time.Now}}
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
