package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/webhooktest"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The files of testdata are AdmissionReviews as a kube-apiserver sent them:
//
//	create.json                 shop, label cost-centre=none, by a member of system:masters
//	create-generated-name.json  shop-wzn55, created by generateName, label team=shop
//	update-labels.json          shop, cost-centre from none to free
//	update-finalizers.json      shop, a finalizer is added, the labels stay
//	update-deleting.json        shop, being deleted, its last finalizer is removed
func TestReview(t *testing.T) {
	const costCentre = "must match `\\d{4}` as a whole (Ask finance.)"
	paid := policy.Spec{RequiredLabels: []policy.RequiredLabel{{Key: "cost-centre", Pattern: `\d{4}`}}, Message: "Ask finance."}

	names := policy.Spec{NamePattern: "[a-z]+"}
	const broken = `ProjectPolicy "names" is not enforced: a pattern of it is invalid, see its condition Valid`
	tests := map[string]struct {
		file        string
		rules       ruleset
		own         string
		edit        func(*admissionv1.AdmissionRequest)
		wantMessage string // empty: allowed
		wantWarning []string
	}{
		"no policies":           {file: "create.json"},
		"a policy is satisfied": {file: "create.json", rules: inForce(t, "names", names)},
		"a policy is broken, and the caller is in system:masters": {
			file: "create.json", rules: inForce(t, "paid", paid),
			wantMessage: `namespace "shop" does not comply with ProjectPolicy "paid": metadata.labels[cost-centre] is "none", ` + costCentre,
		},
		"a generated name is judged as generated": {
			file: "create-generated-name.json", rules: inForce(t, "names", names),
			wantMessage: "namespace \"shop-wzn55\" does not comply with ProjectPolicy \"names\": metadata.name is \"shop-wzn55\", must match `[a-z]+` as a whole",
		},
		"the server's own namespace": {file: "create.json", rules: inForce(t, "paid", paid), own: "shop"},
		"a system namespace":         {file: "create.json", rules: inForce(t, "paid", paid), edit: rename("kube-node-lease")},
		"a label changes for the worse": {
			file: "update-labels.json", rules: inForce(t, "paid", paid),
			wantMessage: `namespace "shop" does not comply with ProjectPolicy "paid": metadata.labels[cost-centre] is "free", ` + costCentre,
		},
		"a label changes that no policy asks for": {file: "update-labels.json", rules: inForce(t, "names", policy.Spec{NamePattern: ".*-dev"})},
		"neither name nor labels change":          {file: "update-finalizers.json", rules: inForce(t, "paid", paid)},
		"being deleted, with any change": {
			file: "update-deleting.json", rules: inForce(t, "paid", paid),
			edit: func(r *admissionv1.AdmissionRequest) {
				r.Object.Raw = bytes.ReplaceAll(r.Object.Raw, []byte(`"cost-centre"`), []byte(`"renamed"`))
			},
		},
		"a broken policy is skipped and named, and the others hold": {
			file: "create.json", rules: ruleset{inForce: inForce(t, "paid", paid).inForce, broken: []string{"names"}},
			wantMessage: `namespace "shop" does not comply with ProjectPolicy "paid": metadata.labels[cost-centre] is "none", ` + costCentre,
			wantWarning: []string{broken},
		},
		"a broken policy alone denies nothing": {file: "create.json", rules: ruleset{broken: []string{"names"}}, wantWarning: []string{broken}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			review := readTestdata(t, test.file)
			if test.edit != nil {
				test.edit(review.Request)
			}
			policies := newPolicyStore()
			policies.current.Store(&test.rules)

			got := webhooktest.Review(t, newWebhook(test.own, policies), review)
			want := admissionv1.AdmissionReview{
				TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
				Response: &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Warnings: test.wantWarning},
			}
			if test.wantMessage != "" {
				want.Response.Allowed = false
				want.Response.Result = &metav1.Status{
					Status: "Failure", Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: test.wantMessage,
				}
			}
			installtest.Same(t, "answer", want, got)
		})
	}
}

func readTestdata(t *testing.T, file string) *admissionv1.AdmissionReview {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	installtest.Must(t, err)
	var compact bytes.Buffer
	installtest.Must(t, json.Compact(&compact, data))
	review := &admissionv1.AdmissionReview{}
	installtest.Must(t, json.Unmarshal(compact.Bytes(), review))
	return review
}

func inForce(t *testing.T, name string, spec policy.Spec) ruleset {
	t.Helper()
	compiled, err := policy.Compile(&policy.ProjectPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	installtest.Must(t, err)
	return ruleset{inForce: []*policy.Compiled{compiled}}
}

func rename(name string) func(*admissionv1.AdmissionRequest) {
	return func(r *admissionv1.AdmissionRequest) {
		r.Object.Raw = bytes.ReplaceAll(r.Object.Raw, []byte(`"name":"shop"`), []byte(`"name":"`+name+`"`))
	}
}
