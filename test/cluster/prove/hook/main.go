// Command hook is the webhook of the proof: /validate denies what is labelled
// deny=true, and /api returns the API server's answer to the pod's own account.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

const (
	certificates   = "/certs/"
	serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"
)

func main() {
	http.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	http.HandleFunc("GET /api", func(w http.ResponseWriter, r *http.Request) {
		answer, err := askAPIServer(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		fmt.Fprintln(w, answer)
	})
	http.HandleFunc("POST /validate", validate)
	server := &http.Server{Addr: ":8443", ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServeTLS(certificates+"tls.crt", certificates+"tls.key"))
}

func validate(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    struct {
			UID    string `json:"uid"`
			Object struct {
				Metadata struct {
					Labels map[string]string `json:"labels"`
				} `json:"metadata"`
			} `json:"object"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pod, err := os.Hostname()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer := map[string]any{
		"apiVersion": review.APIVersion,
		"kind":       review.Kind,
		"response": map[string]any{
			"uid":     review.Request.UID,
			"allowed": review.Request.Object.Metadata.Labels["deny"] != "true",
			"status":  map[string]any{"message": "denied by pod " + pod},
		},
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		log.Print(err)
	}
}

// askAPIServer calls it through the Service kubernetes, as every client in a pod does.
func askAPIServer(ctx context.Context) (string, error) {
	authority, err := os.ReadFile(serviceAccount + "ca.crt")
	if err != nil {
		return "", err
	}
	token, err := os.ReadFile(serviceAccount + "token")
	if err != nil {
		return "", err
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(authority)
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}}}
	url := "https://" + os.Getenv("KUBERNETES_SERVICE_HOST") + "/version"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.Status + " " + string(body), err
}
