// How a model is called: pytree specs, and names for the leaves of its arguments.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace unfuse::pt2 {

/// The structure of a model's arguments or results, as torch.utils._pytree writes it.
struct PyTree {
  enum class Kind {
    kLeaf,
    kTuple,
    kList,
    kDict,  ///< dict, OrderedDict, defaultdict
    kNamedTuple,
    kOther,  ///< a class that only Python can rebuild
  };
  Kind kind = Kind::kLeaf;
  std::string type;  ///< "builtins.tuple"; a namedtuple's class
  /// A key a child: a dict's, quoted as Python writes it, or a namedtuple's field names. Empty for
  /// the rest.
  std::vector<std::string> keys;
  std::vector<PyTree> children;

  std::size_t leaf_count() const;
};

using NamedTupleFields = std::map<std::string, std::vector<std::string>>;

/// Parses a spec string of protocol 1. `fields` gives the field names of namedtuple classes.
/// Throws Error (kInvalidFile) when the text is no such spec.
PyTree parse_pytree(const std::string& spec, const NamedTupleFields& fields);

/// Names for the leaves of call arguments, in flattened order: "x", "batch['mask']", "states[0]".
/// `in_spec` is the tree of (positional arguments, keyword arguments); `argument_names` names the
/// parameters, positional ones first, and may be short or empty ("args[0]" then).
std::vector<std::string> argument_leaf_names(const PyTree& in_spec,
                                             const std::vector<std::string>& argument_names);

/// Names for the leaves of a result: "output", or "output[0]", "output['logits']".
std::vector<std::string> result_leaf_names(const PyTree& out_spec);

}  // namespace unfuse::pt2
