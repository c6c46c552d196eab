package actors

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Actors acts through one API server.
type Actors struct {
	config    *rest.Config
	discovery discovery.DiscoveryInterface
	metadata  metadata.Interface
}

// New returns actors with the configuration of a user who may read and delete everything.
func New(config *rest.Config) (*Actors, error) {
	known, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(config)
	return &Actors{config: config, discovery: known, metadata: client}, err
}

// resource is a resource that can be listed and deleted.
type resource struct {
	schema.GroupVersionResource
	kind       schema.GroupVersionKind
	namespaced bool
}

func (a *Actors) resources() ([]resource, error) {
	_, lists, err := a.discovery.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	var all []resource
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete") {
				all = append(all, resource{group.WithResource(r.Name), group.WithKind(r.Kind), r.Namespaced})
			}
		}
	}
	return all, nil
}

// found is an object with its resource.
type found struct {
	metav1.PartialObjectMetadata
	resource resource
}

// list returns the objects of all resources that are asked for, in one namespace; an empty one is all.
func (a *Actors) list(ctx context.Context, namespace string, wanted func(resource) bool) ([]found, error) {
	resources, err := a.resources()
	if err != nil {
		return nil, err
	}
	var all []found
	for _, r := range resources {
		if !wanted(r) {
			continue
		}
		list, err := a.metadata.Resource(r.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			all = append(all, found{o, r})
		}
	}
	return all, nil
}

func (a *Actors) of(o found) metadata.ResourceInterface {
	return a.metadata.Resource(o.resource.GroupVersionResource).Namespace(o.Namespace)
}
