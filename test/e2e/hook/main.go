// Command hook is the workload of the e2e tests: a webhook server as plain as they
// come, and an operator that waits for it.
//
//	hook serve [flags]       denies what is labelled deny=true, and answers for whichever API
//	                         an APIService sends there
//	  --foreign              … with a certificate of its own making
//	  --reload               … with the certificate that is mounted now, not that of its start
//	  --drain                … and continues for a while when it is asked to end
//	hook await               gets ready when the webhook denies
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func main() {
	switch {
	case len(os.Args) >= 2 && os.Args[1] == "serve":
		serve(os.Args[2:])
	case len(os.Args) == 2 && os.Args[1] == "await":
		log.Fatal(await())
	default:
		log.Fatal("usage: hook serve [--foreign] [--reload] [--drain] | hook await")
	}
}

func handlers() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("/validate", briefly(validate))
	mux.Handle("/resources", briefly(setResources))
	mux.Handle("GET /apis/{group}/{version}", briefly(discover))
	return mux
}

// perConnection is the number of calls of a connection: only a handshake shows a wrong certificate or a wrong trust, and
// API servers keep connections. The last answer announces the end, so that no client writes to a closed connection.
const perConnection = 4

var answers atomic.Int64

func briefly(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if answers.Add(1)%perConnection == 0 {
			w.Header().Set("Connection", "close")
		}
		answer(w, r)
	}
}

func validate(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	var object metav1.PartialObjectMetadata
	err := json.NewDecoder(r.Body).Decode(&review)
	if err == nil && review.Request != nil && len(review.Request.Object.Raw) > 0 {
		err = json.Unmarshal(review.Request.Object.Raw, &object)
	}
	if err != nil || review.Request == nil {
		http.Error(w, fmt.Sprint("no AdmissionReview: ", err), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{
		UID:     review.Request.UID,
		Allowed: object.Labels["deny"] != "true",
		Result:  &metav1.Status{Message: "labelled deny=true"},
	}
	review.Request = nil
	write(w, review)
}

// setResources has a Deployment's first container ask for the processor that the platform gives.
func setResources(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, fmt.Sprint("no AdmissionReview: ", err), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch),
		Patch: []byte(`[{"op": "add", "path": "/spec/template/spec/containers/0/resources", "value": {"requests": {"cpu": "7m"}}}]`),
	}
	review.Request = nil
	write(w, review)
}

// discover answers what an API server asks of those behind it: which resources there are.
func discover(w http.ResponseWriter, r *http.Request) {
	write(w, metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"},
		GroupVersion: r.PathValue("group") + "/" + r.PathValue("version"),
		APIResources: []metav1.APIResource{{Name: "echoes", SingularName: "echo", Kind: "Echo", Verbs: metav1.Verbs{"get"}}},
	})
}

func write(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		log.Print(err)
	}
}
