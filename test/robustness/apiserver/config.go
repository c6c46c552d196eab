package apiserver

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
)

// Config returns a configuration of clients of this API server for a user, without a rate limit. A ServiceAccount has its groups;
// system:admin may do everything.
func (s *Server) Config(name string) *rest.Config {
	return &rest.Config{
		Host: "http://" + s.Name, QPS: -1,
		Transport: &transport{server: s, user: userOf(name)},
	}
}

// Admin is the name of a user who may do everything.
const Admin = "system:admin"

func userOf(name string) *user.DefaultInfo {
	info := &user.DefaultInfo{Name: name, Groups: []string{user.AllAuthenticated}}
	if namespace, _, err := serviceaccount.SplitUsername(name); err == nil {
		info.Groups = append(info.Groups, serviceaccount.MakeGroupNames(namespace)...)
	}
	if name == Admin || name == user.APIServerUser {
		info.Groups = append(info.Groups, user.SystemPrivilegedGroup)
	}
	return info
}

var _ http.RoundTripper = &transport{}
