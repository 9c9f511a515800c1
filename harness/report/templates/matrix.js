{% include "index.js" %}
