#include "pt2/call_signature.h"

#include "pt2/json_reading.h"

namespace unfuse::pt2 {
namespace {

std::string key_text(const Json& key) {
  if (key.is_string()) return "'" + key.string() + "'";
  if (key.is_integer()) return std::to_string(key.integer());
  return "?";  // an enum, a float, None
}

std::vector<std::string> key_texts(const Json& keys) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < keys.size(); ++i) texts.push_back(key_text(keys.at(i)));
  return texts;
}

std::vector<std::string> dict_keys(const Json& node, const std::string& type) {
  const Json context = node.at("context");
  if (type == "collections.defaultdict") return key_texts(context.at("dict_context"));
  // JSON inside JSON.
  const JsonDocument keys(context.string(), node.document().file(), "the keys in a pytree spec");
  return key_texts(keys.root());
}

PyTree::Kind kind_of(const std::string& type) {
  if (type == "builtins.tuple") return PyTree::Kind::kTuple;
  if (type == "builtins.list") return PyTree::Kind::kList;
  if (type == "builtins.dict" || type == "collections.OrderedDict" ||
      type == "collections.defaultdict") {
    return PyTree::Kind::kDict;
  }
  if (type == "collections.namedtuple") return PyTree::Kind::kNamedTuple;
  return PyTree::Kind::kOther;
}

PyTree read_tree(const Json& node, const NamedTupleFields& fields) {
  PyTree tree;
  const Json children = node.at("children_spec");
  for (std::size_t i = 0; i < children.size(); ++i) {
    tree.children.push_back(read_tree(children.at(i), fields));
  }
  const std::optional<Json> type = node.find("type");
  if (!type) {
    if (!tree.children.empty()) node.fail("a leaf with children");
    return tree;
  }
  tree.type = type->string();
  tree.kind = kind_of(tree.type);
  if (tree.kind == PyTree::Kind::kDict) tree.keys = dict_keys(node, tree.type);
  if (tree.kind == PyTree::Kind::kNamedTuple) {
    tree.type = node.at("context").string();
    const auto found = fields.find(tree.type);
    if (found != fields.end()) tree.keys = found->second;
    if (found == fields.end()) tree.kind = PyTree::Kind::kOther;
  }
  const bool keyed = tree.kind == PyTree::Kind::kDict || tree.kind == PyTree::Kind::kNamedTuple;
  if (keyed && tree.keys.size() != tree.children.size()) {
    node.fail("as many keys as children are wanted");
  }
  return tree;
}

void name_leaves(const PyTree& tree, const std::string& name, std::vector<std::string>& names) {
  if (tree.kind == PyTree::Kind::kLeaf) {
    names.push_back(name);
    return;
  }
  for (std::size_t i = 0; i < tree.children.size(); ++i) {
    std::string child = name;
    if (tree.kind == PyTree::Kind::kNamedTuple) {
      child += "." + tree.keys[i];
    } else {
      child += "[" + (tree.keys.empty() ? std::to_string(i) : tree.keys[i]) + "]";
    }
    name_leaves(tree.children[i], child, names);
  }
}

// 'mask' -> mask
std::string without_quotes(const std::string& key) {
  const bool quoted = key.size() >= 2 && key.front() == '\'' && key.back() == '\'';
  return quoted ? key.substr(1, key.size() - 2) : key;
}

bool is_call(const PyTree& tree) {
  return tree.kind == PyTree::Kind::kTuple && tree.children.size() == 2 &&
         tree.children[0].kind == PyTree::Kind::kTuple &&
         tree.children[1].kind == PyTree::Kind::kDict;
}

}  // namespace

std::size_t PyTree::leaf_count() const {
  if (kind == Kind::kLeaf) return 1;
  std::size_t count = 0;
  for (const PyTree& child : children) count += child.leaf_count();
  return count;
}

PyTree parse_pytree(const std::string& spec, const NamedTupleFields& fields) {
  const JsonDocument document(spec, "", "a pytree spec");
  const Json root = document.root();
  if (root.size() != 2) root.fail("expected a protocol number and a tree");
  if (root.at(0).integer() != 1) root.at(0).fail("only protocol 1 is read");
  return read_tree(root.at(1), fields);
}

std::vector<std::string> argument_leaf_names(const PyTree& in_spec,
                                             const std::vector<std::string>& argument_names) {
  std::vector<std::string> names;
  if (!is_call(in_spec)) {
    name_leaves(in_spec, "args", names);
    return names;
  }
  const std::vector<PyTree>& positional = in_spec.children[0].children;
  for (std::size_t i = 0; i < positional.size(); ++i) {
    const bool named = i < argument_names.size() && !argument_names[i].empty();
    name_leaves(positional[i], named ? argument_names[i] : "args[" + std::to_string(i) + "]",
                names);
  }
  const PyTree& keywords = in_spec.children[1];
  for (std::size_t i = 0; i < keywords.children.size(); ++i) {
    name_leaves(keywords.children[i], without_quotes(keywords.keys[i]), names);
  }
  return names;
}

std::vector<std::string> result_leaf_names(const PyTree& out_spec) {
  std::vector<std::string> names;
  name_leaves(out_spec, "output", names);
  return names;
}

}  // namespace unfuse::pt2
