package main

import (
	"context"
	"fmt"

	"sigs.k8s.io/yaml"
)

// writeKrew writes the manifest of the plugin for the index of krew, the plugin manager of kubectl.
func (r *release) writeKrew(context.Context) error {
	sums, err := r.sums()
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(krewManifest(r.version, sums))
	if err != nil {
		return err
	}
	return r.store("webhooks.yaml", text)
}

type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       krewSpec          `json:"spec"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector map[string]map[string]string `json:"selector"`
	URI      string                       `json:"uri"`
	SHA256   string                       `json:"sha256"`
	Bin      string                       `json:"bin"`
}

func krewManifest(version string, sums []sum) krewPlugin {
	digests := map[string]string{}
	for _, s := range sums {
		digests[s.name] = s.sha256
	}
	spec := krewSpec{
		Version:          version,
		Homepage:         repository,
		ShortDescription: "Install operator bundles with webhooks, and see what intercepts requests",
		Description: "Validates, installs, upgrades and uninstalls operator bundles that declare webhooks.\n" +
			"Shows which webhooks are live, which requests they intercept, and what is wrong with them.\n" +
			"The controller olm-webhook-manager must run in the cluster to install bundles.\n",
	}
	for _, p := range platforms {
		archive := p.archive(pluginOf, version)
		spec.Platforms = append(spec.Platforms, krewPlatform{
			Selector: map[string]map[string]string{"matchLabels": {"os": p.os, "arch": p.arch}},
			URI:      fmt.Sprintf("%s/releases/download/%s/%s", repository, version, archive),
			SHA256:   digests[archive],
			Bin:      p.executable(pluginOf),
		})
	}
	return krewPlugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "webhooks"}, Spec: spec}
}
