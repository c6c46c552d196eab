package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// await is an operator that does not get ready before its webhook denies what it
// should: some are written so.
func await() error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var denied atomic.Bool
	go wait.PollUntilContextCancel(context.Background(), 200*time.Millisecond, true, func(ctx context.Context) (bool, error) { //nolint:errcheck // it ends when it is done
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Labels: map[string]string{"deny": "true"}}}
		_, err := client.CoreV1().ConfigMaps(os.Getenv("POD_NAMESPACE")).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		log.Print("probe: ", err)
		denied.Store(err != nil)
		return err != nil, nil
	})
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !denied.Load() {
			http.Error(w, "the webhook does not deny yet", http.StatusServiceUnavailable)
		}
	})
	return http.ListenAndServe(":9443", mux)
}
