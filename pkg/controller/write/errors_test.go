package write

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A denial by admission may have any status code. It counts as a refusal of the write.
func TestRefused(t *testing.T) {
	answer := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
	}
	const webhook, policy = `admission webhook "policy.example.com" denied the request: no`, "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no"
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"forbidden":                               {apierrors.NewForbidden(corev1.Resource("namespaces"), "shop", nil), true},
		"a webhook denies with 403":               {answer(403, metav1.StatusReasonForbidden, webhook), true},
		"a webhook denies with 409":               {answer(409, metav1.StatusReasonConflict, webhook), true},
		"a webhook denies with 429":               {answer(429, metav1.StatusReasonTooManyRequests, webhook), true},
		"a webhook denies with 500":               {answer(500, metav1.StatusReasonInternalError, webhook), true},
		"a policy denies with 401":                {answer(401, metav1.StatusReasonUnauthorized, policy), true},
		"a policy denies with 413":                {answer(413, metav1.StatusReasonRequestEntityTooLarge, policy), true},
		"another client wrote first":              {apierrors.NewConflict(corev1.Resource("namespaces"), "shop", errors.New("modified")), false},
		"the API server is busy":                  {apierrors.NewTooManyRequestsError("later"), false},
		"the API server could not call a webhook": {apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example.com"`)), false},
		"no response of an API server":            {errors.New("denied the request"), false},
	} {
		installtest.Same(t, name, test.want, IsRefused(test.err))
	}
}
