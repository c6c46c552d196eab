package v1alpha1

// TakeoverForm is the form in which the objects of a ClusterServiceVersion are that olm-operator created.
// +kubebuilder:validation:Enum=Adopted;Converging;Converged;GivingBack;GivenBack
type TakeoverForm string

// The forms of an adopted ClusterServiceVersion.
const (
	// TakeoverAdopted: Deployments stay as olm-operator made them. The manager maintains certificates
	// and trust.
	TakeoverAdopted TakeoverForm = "Adopted"
	// TakeoverConverging: Deployments are brought into the manager's form.
	TakeoverConverging TakeoverForm = "Converging"
	// TakeoverConverged: all Deployments have the manager's form, and are available.
	TakeoverConverged TakeoverForm = "Converged"
	// TakeoverGivingBack: objects are brought into a form that olm-operator accepts without a rollout.
	TakeoverGivingBack TakeoverForm = "GivingBack"
	// TakeoverGivenBack: olm-operator accepts all objects without a rollout.
	TakeoverGivenBack TakeoverForm = "GivenBack"
)

// TakeoverStatus reports the takeover of a ClusterServiceVersion that olm-operator installed.
type TakeoverStatus struct {
	// form is the form in which the objects are.
	Form TakeoverForm `json:"form"`

	// deployments are the Deployments that are not converged yet, or not given back yet.
	// +optional
	// +listType=atomic
	Deployments []string `json:"deployments,omitempty"`

	// message reports what the takeover waits for, and the next step. Empty if it waits for nothing.
	// +optional
	Message string `json:"message,omitempty"`
}
