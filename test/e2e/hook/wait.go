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

// await is an operator that is not ready before its webhook denies what it should. Such operators exist.
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
	go func() {
		err := probeUntilDenied(context.Background(), client)
		denied.Store(err == nil)
	}()
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !denied.Load() {
			http.Error(w, "the webhook does not deny yet", http.StatusServiceUnavailable)
		}
	})
	return http.ListenAndServe(":9443", mux)
}

func probeUntilDenied(ctx context.Context, client kubernetes.Interface) error {
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Labels: map[string]string{"deny": "true"}}}
	return wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ConfigMaps(os.Getenv("POD_NAMESPACE")).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		log.Print("probe: ", err)
		return err != nil, nil
	})
}
