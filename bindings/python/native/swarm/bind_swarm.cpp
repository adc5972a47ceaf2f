// weft._swarm: the swarm for Python, without the learning column, so that who trains with another
// framework loads no kernels of ours. weft/swarm/ is what people call.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "swarm/swarm_peer.h"
#include "weft/base/bytes.h"

namespace weft::python {
namespace {

namespace py = pybind11;

void bind_values(py::module_& module) {
  py::class_<PeerOptions>(module, "Options", "What a peer decides for itself or with its group.")
      .def(py::init<>())
      .def_readwrite("recipe", &PeerOptions::recipe)
      .def_readwrite("layout", &PeerOptions::layout)
      .def_readwrite("listen", &PeerOptions::listen)
      .def_readwrite("advertise", &PeerOptions::advertise)
      .def_readwrite("map_port", &PeerOptions::map_port)
      .def_readwrite("identity", &PeerOptions::identity)
      .def_readwrite("wire", &PeerOptions::wire)
      .def_readwrite("rounds", &PeerOptions::rounds)
      .def_readwrite("start_members", &PeerOptions::start_members)
      .def_readwrite("start_timeout", &PeerOptions::start_timeout)
      .def_readwrite("suspicion_timeout", &PeerOptions::suspicion_timeout)
      .def_readwrite("lone_survivor", &PeerOptions::lone_survivor);
  py::class_<PeerTurn>(module, "Turn", "What the training thread does next.")
      .def_readonly("kind", &PeerTurn::kind)
      .def_readonly("round", &PeerTurn::round)
      .def_readonly("rank", &PeerTurn::rank)
      .def_readonly("peers", &PeerTurn::peers)
      .def_readonly("state", &PeerTurn::state);
}

void bind_peer(py::module_& module) {
  py::class_<SwarmPeer>(module, "Peer", "One peer's part in a swarm; weft.swarm has the loop.")
      .def_static("start", &SwarmPeer::start, py::arg("options").none(false))
      .def_static("join", &SwarmPeer::join, py::arg("options").none(false), py::arg("ticket"))
      .def("next", &SwarmPeer::next)
      .def("begin", &SwarmPeer::begin, py::arg("arrays").none(false), py::arg("weight"),
           py::arg("apart"))
      .def("open_parts", &SwarmPeer::open_parts, py::arg("sizes"), py::arg("apart"))
      .def("weigh", &SwarmPeer::weigh, py::arg("weight"))
      .def("contribute", &SwarmPeer::contribute, py::arg("index"), py::arg("array").none(false),
           py::arg("weighted"))
      .def("early_sums", &SwarmPeer::early_sums, py::arg("index"), py::arg("array").none(false),
           py::arg("seconds"))
      .def("round_ended", &SwarmPeer::round_ended, py::arg("seconds"))
      .def("finish", &SwarmPeer::finish)
      .def_property_readonly("elements", &SwarmPeer::elements)
      .def("read", &SwarmPeer::read, py::arg("arrays").none(false), py::arg("mean"))
      .def("applied", &SwarmPeer::applied, py::arg("round"), py::arg("names"),
           py::arg("arrays").none(false))
      .def("publish_state", &SwarmPeer::publish_state, py::arg("round"),
           py::arg("state").none(false))
      .def("leave", &SwarmPeer::leave, py::arg("seconds"))
      .def("ticket", &SwarmPeer::ticket, py::arg("valid_seconds"))
      .def("status", &SwarmPeer::status)
      .def("take_events", &SwarmPeer::take_events)
      .def_property_readonly("id", &SwarmPeer::id)
      .def("close", &SwarmPeer::close);
}

}  // namespace
}  // namespace weft::python

PYBIND11_MODULE(_swarm, module) {
  using namespace weft::python;  // NOLINT(google-build-using-namespace)
  bind_values(module);
  bind_peer(module);
  module.def("fetch_recipe", &fetch_recipe, py::arg("ticket"), py::arg("seconds"));
  module.def(
      "state_hash",
      [](const std::vector<std::string>& names, const py::sequence& arrays) {
        return weft::to_hex(hash_arrays(names, arrays).total);
      },
      py::arg("names"), py::arg("arrays").none(false));
}
