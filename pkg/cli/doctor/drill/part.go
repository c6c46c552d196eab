package drill

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// The kinds of parts that are no objects.
const (
	ControlPlane = "ControlPlane"
	// Nodes is any of the Nodes.
	Nodes = "Nodes"
)

// Part is something that returns after the loss, or never: a program of the control plane, a Node, the pods of a workload,
// the endpoints of a Service, or the server of a webhook, conversion or APIService.
type Part struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Webhook is the name of the webhook in the configuration.
	Webhook string `json:"webhook,omitempty"`
	// Role is what the part is for the cluster; empty for most.
	Role Role `json:"role,omitempty"`
}

// Role is what a part is for the cluster.
type Role string

// The roles.
const (
	Network   Role = "network"
	KubeProxy Role = "kube-proxy"
	DNS       Role = "DNS"
	Manager   Role = "olm-webhook-manager"
	OLM       Role = "OLM"
)

// String names the part for people, and is the same for no other.
func (p Part) String() string {
	switch {
	case p.Kind == Nodes:
		return "any Node"
	case p.Kind == ControlPlane:
		return p.Name
	case p.Webhook != "":
		return fmt.Sprintf("%s %s: webhook %s", p.Kind, p.Name, p.Webhook)
	case p.Kind == doctor.Conversion:
		return fmt.Sprintf("%s %s: conversion", p.Kind, p.Name)
	case p.Namespace != "":
		return fmt.Sprintf("%s %s/%s", p.Kind, p.Namespace, p.Name)
	default:
		return p.Kind + " " + p.Name
	}
}

// IsWorkload reports whether the part stands for pods.
func (p Part) IsWorkload() bool {
	switch p.Kind {
	case ControlPlane, Nodes, "Node", "Service", doctor.Validating, doctor.Mutating, doctor.Conversion, doctor.APIService:
		return false
	default:
		return true
	}
}

func (p Part) isWebhook() bool { return p.Webhook != "" }

// part is a node of the graph.
type part struct {
	Part

	// outside reports that it does not depend on pods of the cluster.
	outside bool
	needs   []need
}

// need is satisfied when any one of the parts has returned. Without parts it is never satisfied.
type need struct {
	any []int
	// request is the one that a webhook sees; nil for another need.
	request *request
	// certain reports whether the need certainly exists.
	certain bool
	// because describes a need without a request.
	because string
}

// graph has the parts of a cluster, and what they need of each other.
type graph struct {
	parts []part
	// webhooks are the parts of the webhooks that fail closed, by kind, configuration and name.
	webhooks map[[3]string]int
	services map[types.NamespacedName]int
}

func (g *graph) add(p part) int {
	g.parts = append(g.parts, p)
	return len(g.parts) - 1
}

func (g *graph) need(i int, because string, anyOf ...int) {
	g.parts[i].needs = append(g.parts[i].needs, need{any: anyOf, certain: true, because: because})
}
