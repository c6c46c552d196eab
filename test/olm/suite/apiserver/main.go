// Command apiserver stands for the aggregated API server whose image OLM's own end-to-end tests pull from a registry. It
// takes the same flags, and serves the discovery of one group and version.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// certificates is where olm-operator mounts the serving certificate of an owned APIService.
const certificates = "/apiserver.local.config/certificates/apiserver"

func main() {
	kinds := flag.String("mock-kinds", "", "kinds to serve, separated by commas")
	groupVersion := flag.String("mock-group-version", "", "GROUP/VERSION to serve")
	port := flag.Int("secure-port", 443, "port")
	flag.Int("v", 0, "not used")
	flag.Bool("debug", false, "not used")
	flag.Parse()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /apis/"+*groupVersion, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(discovery(*groupVersion, strings.Split(*kinds, ","))); err != nil {
			log.Print(err)
		}
	})
	server := &http.Server{Addr: ":" + strconv.Itoa(*port), Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServeTLS(certificates+".crt", certificates+".key"))
}

func discovery(groupVersion string, kinds []string) metav1.APIResourceList {
	resources := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: groupVersion}
	for _, kind := range kinds {
		singular := strings.ToLower(kind)
		resources.APIResources = append(resources.APIResources, metav1.APIResource{
			Name: singular + "s", SingularName: singular, Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"get", "list"},
		})
	}
	return resources
}
