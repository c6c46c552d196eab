# Sourced. OLM's programs as images, and OLM in the cluster in use.

olm=(catalog-operator olm-operator package-server opm cpb)

# olm_images PROGRAM...: the programs of OLM are built once for each version. An image has the name of its program, and
# cp, which Jobs need.
olm_images() {
  local program name
  mkdir -p out
  go build -C test/olm -o "$PWD/out/cp" ./cp
  for program in $(go run ./test/programs/build "$@"); do
    name=$(basename "$program")
    go run ./hack/mkimage -o "out/$name.tar" -t "docker.io/olm-webhook-manager/$name:dev" -dir /bin "$program" out/cp=/bin/cp
  done
}

# load_images NAME...: the images of out/.
load_images() {
  local archives=("${@/#/$PWD/out/}")
  cluster load "${archives[@]/%/.tar}"
}

define_olm() {
  kubectl apply --server-side -f "$(go list -m -f '{{.Dir}}' github.com/operator-framework/api)/crds"
  kubectl wait --for=condition=Established crd --all --timeout=1m
}

examples=(poddefaults projectpolicy volumelabels crdconversion)

# build_images: what the tests of test/olm install.
build_images() {
  local example
  olm_images "${olm[@]}"
  for example in "${examples[@]}"; do
    ./hack/image.sh "$example" "./examples/$example"
  done
}

# start_olm: without olm-operator.
start_olm() {
  load_images "${olm[@]}" "${examples[@]}"
  define_olm
  kubectl apply --server-side -k test/olm/manifests
  kubectl rollout status -n olm deployment/catalog-operator --timeout=3m
}

start_olm_operator() {
  kubectl scale -n olm deployment/olm-operator --replicas=1
  kubectl rollout status -n olm deployment/olm-operator --timeout=3m
}

start_manager() {
  BASE=manifests/with-olm ./hack/deploy.sh
}
