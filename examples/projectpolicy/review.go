package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/sirupsen/logrus"
	admissionv1 "k8s.io/api/admission/v1"
)

// maxReviewBytes bounds what is read of a request. The API server takes
// objects of up to 3 MiB, and the review of an UPDATE carries two of them.
const maxReviewBytes = 8 << 20

// newReviewHandler answers AdmissionReviews over HTTP. What is not a review
// gets an HTTP error; what is one gets a review, even when it asks for
// something that this webhook does not judge.
func newReviewHandler(judge *judge) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review, fault := readReview(w, r)
		if fault != nil {
			logrus.WithField("client", r.RemoteAddr).WithError(fault).Warn("Not an admission review")
			http.Error(w, fault.Error(), fault.status)
			return
		}

		response := judge.Review(review.Request)
		response.UID = review.Request.UID
		if !response.Allowed {
			logrus.WithFields(logrus.Fields{
				"operation": review.Request.Operation,
				"user":      review.Request.UserInfo.Username,
				"reason":    response.Result.Message,
			}).Info("Denied")
		}

		w.Header().Set("Content-Type", "application/json")
		answer := admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			logrus.WithError(err).Warn("Writing an answer")
		}
	})
}

// httpError is a request that is not an AdmissionReview, and the HTTP status
// that says so.
type httpError struct {
	status  int
	message string
}

func (f *httpError) Error() string { return f.message }

func faultf(status int, format string, args ...any) *httpError {
	return &httpError{status: status, message: fmt.Sprintf(format, args...)}
}

func readReview(w http.ResponseWriter, r *http.Request) (*admissionv1.AdmissionReview, *httpError) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, faultf(http.StatusMethodNotAllowed, "an AdmissionReview is sent by POST, not by %s", r.Method)
	}
	if contentType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || contentType != "application/json" {
		return nil, faultf(http.StatusUnsupportedMediaType, "Content-Type is %q, expected application/json", r.Header.Get("Content-Type"))
	}

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReviewBytes))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, faultf(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	}
	if err != nil {
		return nil, faultf(http.StatusBadRequest, "reading the body: %v", err)
	}

	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, review); err != nil {
		return nil, faultf(http.StatusBadRequest, "the body is not an AdmissionReview: %v", err)
	}
	if review.APIVersion != admissionv1.SchemeGroupVersion.String() || review.Kind != "AdmissionReview" {
		return nil, faultf(http.StatusBadRequest, "the body is a %q of %q, expected an AdmissionReview of %s",
			review.Kind, review.APIVersion, admissionv1.SchemeGroupVersion)
	}
	if review.Request == nil {
		return nil, faultf(http.StatusBadRequest, "the AdmissionReview has no request")
	}
	return review, nil
}
