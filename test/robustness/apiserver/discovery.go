package apiserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

func (i *installed) has(group string) bool {
	_, found := slices.BinarySearch(i.groups, group)
	return found
}

// serveDiscovery answers the paths that are no resources. It has the form of discovery without aggregation.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/version":
		writeJSON(w, http.StatusOK, version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"})
	case "/healthz", "/livez", "/readyz":
		_, _ = w.Write([]byte("ok"))
	case "/api":
		writeJSON(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}})
	case "/apis":
		writeJSON(w, http.StatusOK, s.groupList())
	default:
		s.serveGroupOrVersion(w, r)
	}
}

func (s *Server) serveGroupOrVersion(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "apis" && len(parts) == 2:
		s.serveGroup(w, parts[1])
	case parts[0] == "api" && len(parts) == 2, parts[0] == "apis" && len(parts) == 3 && handlers.has(parts[1]):
		handlers.handler.ServeHTTP(w, r)
	case parts[0] == "apis" && len(parts) == 3:
		s.serveCustomVersion(w, parts[1], parts[2])
	default:
		writeNotFound(w)
	}
}

func (s *Server) groupList() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, group := range handlers.groups {
		if group != "" {
			list.Groups = append(list.Groups, groupOf(group, "v1"))
		}
	}
	list.Groups = append(list.Groups, s.definitions.groups()...)
	return list
}

func groupOf(name string, versions ...string) metav1.APIGroup {
	group := metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: name}
	for _, v := range versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	group.PreferredVersion = group.Versions[0]
	return group
}

func (s *Server) serveGroup(w http.ResponseWriter, name string) {
	for _, group := range s.groupList().Groups {
		if group.Name == name {
			writeJSON(w, http.StatusOK, group)
			return
		}
	}
	writeNotFound(w)
}

func (s *Server) serveCustomVersion(w http.ResponseWriter, group, version string) {
	resources := s.definitions.resources(group, version)
	if len(resources) == 0 {
		writeNotFound(w)
		return
	}
	writeJSON(w, http.StatusOK, metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: group + "/" + version, APIResources: resources,
	})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client has closed the connection
}

func writeNotFound(w http.ResponseWriter) {
	status := apierrors.NewGenericServerResponse(http.StatusNotFound, "", metav1GroupResource, "", "", 0, true).Status()
	status.Kind, status.APIVersion = "Status", "v1"
	writeJSON(w, http.StatusNotFound, status)
}
