package deploy

import (
	"crypto/sha256"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DryRunCopy is an object for a dry run in an existing namespace, with a name that no other object has.
func DryRunCopy(o *unstructured.Unstructured) *unstructured.Unstructured {
	e := o.DeepCopy()
	e.SetNamespace(metav1.NamespaceDefault)
	e.SetName(fmt.Sprintf("bundle-check-%x", sha256.Sum256([]byte(Title(o))))[:40])
	return e
}

// DryRunRefusal returns why the API server refuses an object in its own namespace as well; nil if the
// reason may be the namespace of the dry run: a quota, an admission policy, a webhook, a permission.
func DryRunRefusal(o *unstructured.Unstructured, err error) error {
	if err == nil || !refusedByType(err) {
		return nil
	}
	e := DryRunCopy(o)
	message := strings.NewReplacer(e.GetNamespace()+"/"+e.GetName(), o.GetNamespace()+"/"+o.GetName(), e.GetName(), o.GetName()).Replace(err.Error())
	return fmt.Errorf("%s: %s", Title(o), message)
}

func refusedByType(err error) bool {
	message := err.Error()
	if strings.Contains(message, "admission webhook") || strings.Contains(message, "AdmissionPolicy") {
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || strings.Contains(message, "failed to create typed patch object")
}
