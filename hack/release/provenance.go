package main

import (
	"context"
	"encoding/json"
	"runtime"
)

// statement is an in-toto statement with SLSA provenance: https://slsa.dev/spec/v1.0/provenance.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]string `json:"externalParameters"`
	InternalParameters   map[string]string `json:"internalParameters"`
	ResolvedDependencies []resource        `json:"resolvedDependencies"`
}

type runDetails struct {
	Builder struct {
		ID string `json:"id"`
	} `json:"builder"`
}

// writeProvenance has no times, since the same commit gives the same files.
func (r *release) writeProvenance(context.Context) error {
	sums, err := r.sums()
	if err != nil {
		return err
	}
	s := provenanceOf(r.version, r.commit, runtime.Version(), sums, r.images)
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return r.store("provenance.intoto.json", append(text, '\n'))
}

func provenanceOf(version, commit, goVersion string, sums []sum, images []image) statement {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, f := range sums {
		s.Subject = append(s.Subject, resource{Name: f.name, Digest: map[string]string{"sha256": f.sha256}})
	}
	for _, i := range images {
		s.Subject = append(s.Subject, resource{Name: i.name, Digest: map[string]string{"sha256": i.digest[len("sha256:"):]}})
	}
	s.Predicate.BuildDefinition = buildDefinition{
		BuildType:          repository + "/blob/" + version + "/docs/developer/release.md",
		ExternalParameters: map[string]string{"version": version},
		InternalParameters: map[string]string{"go": goVersion},
		ResolvedDependencies: []resource{{
			URI: "git+" + repository + "@refs/tags/" + version, Digest: map[string]string{"gitCommit": commit},
		}},
	}
	s.Predicate.RunDetails.Builder.ID = repository + "/blob/" + version + "/hack/release"
	return s
}
